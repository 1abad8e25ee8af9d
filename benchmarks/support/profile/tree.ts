import type { Profiler } from "node:inspector";
import { IDLE, packageOf, selfTimes } from "./shares.ts";

/** A function as it was called on one way. Milliseconds over all turns. */
export interface ProfileNode {
  /** How many stand above it: a tree is a list of its nodes, each with those that it calls right behind it. */
  depth: number;
  /** "function file:line". */
  name: string;
  package: string;
  selfMs: number;
  totalMs: number;
}

interface Called extends Omit<ProfileNode, "depth"> {
  children: Called[];
}

/** A function that took much itself, on whatever way it was called. */
export interface HotFunction {
  name: string;
  package: string;
  selfMs: number;
}

const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/** The last parts of the path: enough to find it, and nothing of where the project lies. */
function placeOf({ url, lineNumber }: Profiler.ProfileNode["callFrame"]): string {
  if (url === "") return "";
  const parts = url.replace(/^file:\/\//, "").split("/");
  const inPackage = parts.lastIndexOf("node_modules");
  const short = inPackage === -1 ? parts.slice(-2) : parts.length - inPackage > 5 ? parts.slice(-3) : parts.slice(inPackage + 1);
  return ` ${short.join("/")}:${lineNumber + 1}`;
}

const nameOf = (frame: Profiler.ProfileNode["callFrame"]): string => `${frame.functionName || "(anonymous)"}${placeOf(frame)}`;

function listed({ children, selfMs, totalMs, ...called }: Called, least: number, depth: number): ProfileNode[] {
  const kept = children.filter((child) => child.totalMs >= least).sort((one, other) => other.totalMs - one.totalMs);
  const own = { depth, ...called, selfMs: rounded(selfMs), totalMs: rounded(totalMs) };
  return [own, ...kept.flatMap((child) => listed(child, least, depth + 1))];
}

/** The tree of calls without what is idle, and without branches of less than `leastShare` of the whole (their time stays in their callers'). */
export function profileTree(profile: Profiler.Profile, leastShare: number): ProfileNode[] {
  const times = selfTimes(profile);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  function treeOf(id: number, caller: string): Called[] {
    const node = nodes.get(id);
    if (!node || node.callFrame.functionName === "(idle)") return [];
    const own = packageOf(node.callFrame) ?? caller;
    const children = (node.children ?? []).flatMap((child) => treeOf(child, own));
    const selfMs = IDLE.has(node.callFrame.functionName) ? 0 : (times.get(id) ?? 0);
    const totalMs = children.reduce((sum, child) => sum + child.totalMs, selfMs);
    return [{ name: nameOf(node.callFrame), package: own, selfMs, totalMs, children }];
  }
  const [root] = profile.nodes;
  const [whole] = root ? treeOf(root.id, "V8 itself") : [];
  if (!whole || whole.totalMs === 0) throw new Error("the profile has no samples");
  return listed({ ...whole, name: "all turns" }, whole.totalMs * leastShare, 0);
}

/** The functions with the most time of their own, on all ways together. */
export function hottestFunctions(profile: Profiler.Profile, count: number): HotFunction[] {
  const times = selfTimes(profile);
  const sums = new Map<string, HotFunction>();
  for (const { id, callFrame } of profile.nodes) {
    if (IDLE.has(callFrame.functionName)) continue;
    const name = nameOf(callFrame);
    const sum = sums.get(name) ?? { name, package: packageOf(callFrame) ?? "V8 itself", selfMs: 0 };
    sums.set(name, { ...sum, selfMs: sum.selfMs + (times.get(id) ?? 0) });
  }
  return [...sums.values()]
    .sort((one, other) => other.selfMs - one.selfMs)
    .slice(0, count)
    .map((one) => ({ ...one, selfMs: rounded(one.selfMs) }));
}
