import flamegraph, { type FlameGraph, type FlameNode } from "d3-flame-graph";
import { select } from "d3-selection";
import { colourOf } from "./colours.ts";
import type { PackedTree } from "./packed-tree.ts";

/** Nodes below this width, in pixels, are not drawn until they are zoomed to. */
const LEAST_PIXELS = 1;

function unpack({ names, packages, nodes }: PackedTree): FlameNode {
  const above: FlameNode[] = [];
  for (const [depth, name, owner, value] of nodes) {
    const node: FlameNode = { name: names[name] ?? "", value, package: packages[owner] ?? "", children: [] };
    above[depth - 1]?.children.push(node);
    above[depth] = node;
  }
  const [root] = above;
  if (!root) throw new Error("the tree is empty");
  return root;
}

/** The functions of one package have one colour. */
export function drawFlame(into: HTMLElement, tree: PackedTree, tell: (text: string) => void): FlameGraph {
  const root = unpack(tree);
  const colours = new Map(tree.packages.map((name, place) => [name, colourOf(place)]));
  const textOf = ({ name, package: owner, value }: FlameNode): string =>
    `${name} (${owner}): ${value.toFixed(1)} ms, ${((100 * value) / root.value).toFixed(1)} %`;
  const graph = flamegraph()
    .width(into.clientWidth)
    .cellHeight(17)
    .minFrameSize(LEAST_PIXELS)
    .inverted(true)
    .transitionDuration(matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250)
    .title("")
    .tooltip(false)
    .label(({ data }) => textOf(data))
    .setColorMapper(({ data, highlight }) => (highlight ? "#e600e6" : (colours.get(data.package) ?? "#888")))
    .setDetailsHandler((node) => tell(node ? textOf(node.data) : ""));
  select(into).datum(root).call(graph);
  return graph;
}
