import type { Profiler } from "node:inspector";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** How much of the busy time one package took. */
export interface Share {
  name: string;
  /** In its own functions and in what V8 and Node do for them directly (parsing JSON, writing to a socket). */
  selfMs: number;
  /** With everything that they call. */
  totalMs: number;
  /** selfMs of all that is busy, in per cent. */
  share: number;
}

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Packages under one name; any other has its own. */
const GROUPS: Record<string, string> = {
  "@langchain/langgraph": "langgraph",
  "@langchain/langgraph-checkpoint": "langgraph",
  "@langchain/core": "langchain core",
  "@langchain/openai": "openai",
  "@electric-sql/pglite": "pglite",
  "@electric-sql/pglite-pgvector": "pglite",
  "@electric-sql/pglite-pg_textsearch": "pglite",
  "pg-pool": "pg",
  "pg-protocol": "pg",
  "pg-types": "pg",
  router: "express",
  "body-parser": "express",
  "raw-body": "express",
  finalhandler: "express",
};

/** Names of what is not a function of anybody. */
const BUSY_WITHOUT_STACK: Record<string, string> = {
  "(garbage collector)": "garbage collection",
  "(program)": "native code outside of JavaScript",
};
export const IDLE = new Set(["(idle)", "(root)"]);

/** Node's own modules that take bytes in and out. */
const NODE_IO = /^node:(_?http|_?net|_?tls|_?stream|stream|internal\/(deps\/undici|http|net|stream|webstreams|js_stream|fetch))/;

/** Which package a function is of; undefined for what V8 brings itself: it counts for its caller. */
export function packageOf({ functionName, url }: Profiler.ProfileNode["callFrame"]): string | undefined {
  const alone = BUSY_WITHOUT_STACK[functionName];
  if (alone !== undefined) return alone;
  if (url.startsWith("wasm:")) return "pglite";
  if (url.startsWith("node:")) return NODE_IO.test(url) ? "node: http, streams, undici" : "node: the rest";
  const file = url.startsWith("file:") ? fileURLToPath(url) : url;
  if (!path.isAbsolute(file)) return undefined;
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  if (name !== undefined) return GROUPS[name] ?? name;
  return `this project: ${file.startsWith(ROOT) ? (file.slice(ROOT.length).split("/")[0] ?? "") : "elsewhere"}`;
}

/** The time in each node itself, in milliseconds, by its id. */
export function selfTimes({ samples = [], timeDeltas = [] }: Profiler.Profile): Map<number, number> {
  const times = new Map<number, number>();
  for (const [index, id] of samples.entries()) {
    // A sample lasts until the next one; the last has no end.
    times.set(id, (times.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0) / 1_000);
  }
  return times;
}

/** The shares of all packages, largest first, and what is busy in all, in milliseconds. */
export function sharesByPackage(profile: Profiler.Profile): { busyMs: number; shares: Share[] } {
  const times = selfTimes(profile);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const sums = new Map<string, { selfMs: number; totalMs: number }>();
  let busyMs = 0;
  function visit(id: number, caller: string, callers: ReadonlySet<string>): void {
    const node = nodes.get(id);
    if (!node) return;
    const own = packageOf(node.callFrame) ?? caller;
    const ms = IDLE.has(node.callFrame.functionName) ? 0 : (times.get(id) ?? 0);
    const onStack = callers.has(own) ? callers : new Set([...callers, own]);
    busyMs += ms;
    for (const name of onStack) {
      const sum = sums.get(name) ?? { selfMs: 0, totalMs: 0 };
      sum.totalMs += ms;
      if (name === own) sum.selfMs += ms;
      sums.set(name, sum);
    }
    for (const child of node.children ?? []) visit(child, own, onStack);
  }
  const [root] = profile.nodes;
  if (root) for (const child of root.children ?? []) visit(child, "V8 itself", new Set());
  const shares = [...sums]
    .map(([name, { selfMs, totalMs }]) => ({ name, selfMs, totalMs, share: (100 * selfMs) / busyMs }))
    .filter(({ totalMs }) => totalMs > 0)
    .sort((one, other) => other.selfMs - one.selfMs);
  return { busyMs, shares };
}
