import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import type { Exchange } from "./chaos-users.ts";
import { sendAndStay, type Network } from "../../servers/real-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Jobs of a killed process come back within 30 s, those that failed are at most 15 s apart. */
const JOBS_DONE_MS = 180_000;

export async function sendAllOnceMore(network: Network, exchanges: readonly Exchange[], random: (below: number) => number): Promise<void> {
  const due = exchanges.filter(({ reports }) => reports.some(({ done, gone }) => done || gone));
  for (const ofOne of Map.groupBy(due, ({ userId }) => userId).values()) {
    await Promise.all(ofOne.map(async (exchange) => exchange.reports.push(await sendAndStay(network, exchange, random))));
  }
}

const UNDONE =
  "select name, data->>'kind' as kind, state, retry_count, created_on, output from pgboss.job where state <= 'active' limit 10";

/** Waits until no job waits or runs. Resolves with how many milliseconds that took, and with those that are dead or do not end, in words. */
export async function waitForJobs(database: Database): Promise<{ jobsDoneMs: number; wrongs: string[] }> {
  const began = performance.now();
  const jobs = makeJobOverview(database);
  const isDone = async (): Promise<boolean> => (await jobs.count(null)).every(({ state }) => state === "dead");
  const undone = await waitUntil("all jobs are done", isDone, JOBS_DONE_MS).then(
    (): string[] => [],
    (error: unknown) => [String(error)],
  );
  if (undone.length > 0) undone.push(...(await database.query<object>({ text: UNDONE })).map((job) => JSON.stringify(job)));
  const dead = await jobs.listDead(10, null);
  return {
    jobsDoneMs: Math.round(performance.now() - began),
    wrongs: [...undone, ...dead.map((job) => `a job is dead: ${JSON.stringify(job)}`)],
  };
}
