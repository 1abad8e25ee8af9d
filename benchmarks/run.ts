import { benchChaos } from "./chaos.ts";
import { benchGrowth } from "./growth.ts";
import { benchJobs } from "./jobs.ts";
import { benchKnowledge } from "./knowledge.ts";
import { benchLoad } from "./load.ts";
import { benchOverload } from "./support/load/overload.ts";
import { benchPeers } from "./peers.ts";
import { benchRecall } from "./recall.ts";
import { benchResident } from "./resident.ts";
import { benchTokens } from "./tokens.ts";
import { type Progress, showRunProgress } from "./support/progress.ts";
import { benchTurn } from "./turn.ts";

/**
 * Every benchmark by its name: `npm run bench` runs all, `npm run bench NAME…` some. One that throws does not stop the others.
 */
const BENCHMARKS: Record<string, (progress: Progress) => Promise<void | "skipped">> = {
  turn: benchTurn,
  load: benchLoad,
  overload: benchOverload,
  resident: benchResident,
  jobs: benchJobs,
  tokens: benchTokens,
  growth: benchGrowth,
  recall: benchRecall,
  knowledge: benchKnowledge,
  chaos: benchChaos,
  peers: benchPeers,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  const known = Object.keys(BENCHMARKS).join(", ");
  process.stderr.write(`There is no benchmark ${unknown.join(", ")}. Known ones: ${known}.\n`);
  process.exit(1);
}
const chosen = Object.entries(BENCHMARKS).filter(([name]) => wanted.length === 0 || wanted.includes(name));
const failed: string[] = [];
const progress = showRunProgress(chosen.length);
for (const [name, benchmark] of chosen) {
  try {
    await benchmark(progress.begin(name));
  } catch (error) {
    failed.push(name);
    process.stdout.write(`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  }
}
progress.end();
if (failed.length > 0)
  process.stdout.write(`failed: ${failed.join(", ")}
`);
// The package that runs Postgres ends a process with 0 that has nothing left to do, whatever its exitCode is.
process.exit(failed.length > 0 ? 1 : 0);
