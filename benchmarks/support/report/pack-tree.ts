import type { PackedTree } from "../../report-page/packed-tree.ts";
import type { ShownTree } from "./read-results.ts";

/** The same tree with every name once. */
export function packTree(tree: ShownTree): PackedTree {
  const names = [...new Set(tree.map(({ name }) => name))];
  const packages = [...new Set(tree.map((node) => node.package))];
  const placeOf = new Map(names.map((name, place) => [name, place]));
  return {
    names,
    packages,
    nodes: tree.map((node) => [node.depth, placeOf.get(node.name) ?? 0, packages.indexOf(node.package), node.totalMs]),
  };
}
