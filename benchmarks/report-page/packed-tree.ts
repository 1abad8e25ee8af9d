/** A tree of calls as the page holds it: the nodes in the order of a walk from the root, names and packages by their places in the lists. */
export interface PackedTree {
  names: readonly string[];
  packages: readonly string[];
  nodes: readonly (readonly [depth: number, name: number, owner: number, totalMs: number])[];
}
