import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { findWrongs, sendAllOnceMore, waitForJobs } from "./chaos-checks.ts";
import { watchLeases, type LeaseFigures } from "./chaos-leases.ts";
import { CHAOS_SETTINGS, HISTORY_WINDOW, LEASE_MS, makeChaosModel } from "./chaos-model.ts";
import { openChaosProcesses, type ChaosProcesses } from "./chaos-processes.ts";
import { findWrongSummaries, recordSummaries } from "./chaos-summaries.ts";
import { talk } from "./chaos-users.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { makeSeededRandom } from "../../support/samples/seeded-random.ts";

const USERS = Array.from({ length: 20 }, (_, number) => `user ${number}`);
/** Milliseconds in which replies of Postgres are lost: less than a lease, in which a renewal must come through. */
const SHORTEST_SILENCE_MS = 100;
const LONGEST_SILENCE_MS = 600;

export interface ChaosFigures {
  seed: number;
  seconds: number;
  kills: ChaosProcesses["count"];
  messages: number;
  done: number;
  cancelled: number;
  superseded: number;
  gone: number;
  posts: number;
  resumes: number;
  brokenConnections: number;
  slowestMs: number;
  longestStopMs: number;
  leases: Omit<LeaseFigures, "violations">;
  jobsDoneMs: number;
  summaryVersions: number;
}

/**
 * Two processes on the empty database of this URL, killed at random for so many seconds, under 20 people whose clients behave like real
 * ones. Resolves with figures and with everything that was wrong, in words.
 */
export async function runChaos(databaseUrl: string, seconds: number, seed: number): Promise<{ figures: ChaosFigures; wrongs: string[] }> {
  const random = makeSeededRandom(seed);
  await using opened = new AsyncDisposableStack();
  const model = await startModelServer({ keepSeen: false });
  opened.defer(() => model.close());
  model.answer(makeChaosModel(random));
  const proxy = await startTcpProxy(databaseUrl);
  opened.defer(() => proxy.close());
  async function loseReplies(): Promise<void> {
    proxy.loseReplies();
    await sleep(SHORTEST_SILENCE_MS + random(LONGEST_SILENCE_MS - SHORTEST_SILENCE_MS));
    await proxy.restore();
  }
  const processes = await openChaosProcesses(
    { ...CHAOS_SETTINGS, DATABASE_URL: proxy.url, OPENAI_BASE_URL: model.url },
    random,
    loseReplies,
  );
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());
  await recordSummaries(database);
  const { network } = processes;

  const leases = watchLeases(database, LEASE_MS);
  const end = performance.now() + seconds * 1_000;
  const isOver = (): boolean => performance.now() > end;
  const [exchanges] = await Promise.all([
    Promise.all(USERS.map((user, index) => talk(network, user, seed + 2 * index, isOver))).then((all) => all.flat()),
    processes.harass(isOver),
  ]);
  await sleep(LEASE_MS + 100); // leases of killed processes have expired
  const leaseFigures = await leases.stop();

  const reports = exchanges.flatMap((exchange) => exchange.reports);
  // After a violation a process may be gone for good.
  if (processes.violations.length === 0) await sendAllOnceMore(network, exchanges, random);

  const { jobsDoneMs, wrongs: deadJobs } = await waitForJobs(database);
  const summaries = await findWrongSummaries(database, HISTORY_WINDOW);
  const wrongs = [...leaseFigures.violations, ...deadJobs, ...summaries.wrongs, ...(await findWrongs(database, exchanges))];
  await processes.stop();
  wrongs.push(...processes.violations);

  const sum = (count: (report: (typeof reports)[number]) => number): number => reports.reduce((total, report) => total + count(report), 0);
  const { longestUnrenewedMs, longestHeldMs, ranOut } = leaseFigures;
  const figures: ChaosFigures = {
    seed,
    seconds,
    kills: processes.count,
    messages: exchanges.length,
    done: exchanges.filter((exchange) => exchange.reports.some(({ done }) => done)).length,
    cancelled: exchanges.filter((exchange) => exchange.reports.every(({ done, cancelled }) => !done && cancelled)).length,
    superseded: exchanges.filter((exchange) => exchange.reports.every(({ failure }) => failure === "turn_superseded")).length,
    gone: sum(({ gone }) => Number(gone)),
    posts: sum(({ tries }) => tries),
    resumes: sum(({ resumes }) => resumes),
    brokenConnections: sum(({ breaks }) => breaks),
    slowestMs: Math.max(...reports.map(({ ms }) => ms)),
    longestStopMs: processes.longestStopMs(),
    leases: { longestUnrenewedMs, longestHeldMs, ranOut },
    jobsDoneMs,
    summaryVersions: summaries.versions,
  };
  return { figures, wrongs: wrongs.length === 0 ? [] : [...wrongs, `the processes:\n  ${processes.journal.join("\n  ")}`] };
}
