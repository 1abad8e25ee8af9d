import { fileURLToPath } from "node:url";
import { benchBars } from "./bars.ts";
import { benchChaos } from "./chaos.ts";
import { benchGrowth } from "./growth.ts";
import { benchJobs } from "./jobs.ts";
import { benchKnowledge } from "./knowledge.ts";
import { benchLoad } from "./load.ts";
import { benchOverload } from "./overload.ts";
import { benchPaced } from "./paced.ts";
import { benchPage } from "./page.ts";
import { benchPeers } from "./peers.ts";
import { benchProfile } from "./profile.ts";
import { benchRecall } from "./recall.ts";
import { benchRecovery } from "./recovery.ts";
import { benchResident } from "./resident.ts";
import { benchRetrieve } from "./retrieve.ts";
import { benchRouting } from "./routing.ts";
import { benchSoak } from "./soak.ts";
import { benchTokens } from "./tokens.ts";
import { forgetFailure, keepFailure } from "./support/failures.ts";
import type { Progress } from "./support/progress.ts";
import { writeReport } from "./support/report/write-report.ts";
import { showRunProgress } from "./support/show-progress.ts";
import { benchTurn } from "./turn.ts";
import { benchUsers } from "./users.ts";

/**
 * Every benchmark by its name: `npm run bench` runs all, `npm run bench NAME…` some, and the report is written anew from all results that are
 * kept; `npm run bench report` does that alone. One that throws does not stop the others; what is kept of one that was skipped stays as it was.
 */
const BENCHMARKS: Record<string, (progress: Progress) => Promise<void | "skipped">> = {
  bars: benchBars,
  turn: benchTurn,
  load: benchLoad,
  paced: benchPaced,
  overload: benchOverload,
  users: benchUsers,
  resident: benchResident,
  jobs: benchJobs,
  recovery: benchRecovery,
  profile: benchProfile,
  tokens: benchTokens,
  growth: benchGrowth,
  recall: benchRecall,
  retrieve: benchRetrieve,
  routing: benchRouting,
  knowledge: benchKnowledge,
  page: benchPage,
  chaos: benchChaos,
  soak: benchSoak,
  peers: benchPeers,
};

const REPORT = "report";
const RESULTS = fileURLToPath(new URL("./results", import.meta.url));
const REPORTS = fileURLToPath(new URL("./report", import.meta.url));

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHMARKS) && name !== REPORT);
if (unknown.length > 0) {
  const known = [...Object.keys(BENCHMARKS), REPORT].join(", ");
  process.stderr.write(`There is no benchmark ${unknown.join(", ")}. Known ones: ${known}.\n`);
  process.exit(1);
}
const chosen = Object.entries(BENCHMARKS).filter(([name]) => wanted.length === 0 || wanted.includes(name));
const failed: string[] = [];
const progress = showRunProgress(chosen.length);
for (const [name, benchmark] of chosen) {
  try {
    if ((await benchmark(progress.begin(name))) !== "skipped") await forgetFailure(name);
  } catch (error) {
    failed.push(name);
    process.stdout.write(`${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    await keepFailure(name, error);
  }
}
progress.end();
const { page, met, missed } = await writeReport(RESULTS, REPORTS);
process.stdout.write(`${page}: ${met} goals met, ${missed} missed${failed.length > 0 ? `; failed: ${failed.join(", ")}` : ""}\n`);
// The package that runs Postgres ends a process with 0 that has nothing left to do, whatever its exitCode is.
process.exit(failed.length > 0 ? 1 : 0);
