import { afterEach } from "@jest/globals";
import {
  type JobHandler,
  type JobRun,
  type Remaining,
  runJobs,
  type RunJobsParts,
  type RunningJobs,
} from "../../../memory/jobs/run-jobs.ts";
import type { JobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeBoss, QUEUE } from "../../../stores/postgres/database/pg-boss.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { JOB_KINDS } from "../../../stores/jobs/job.ts";
import { conversationOf } from "../../support/samples/sample-jobs.ts";

/** A worker that is running, with what it has told so far. */
export interface TestRunner extends RunningJobs {
  runs: JobRun[];
  errors: unknown[];
  outcomes(): string[];
}

export interface FakeWork {
  /** Default: nothing. */
  step?: (conversationId: string, signal: AbortSignal) => Promise<void>;
  /** Default: nothing. */
  remaining?: JobHandler["remaining"] | Remaining;
}

/** Looks for jobs so rarely that what starts has been told of by the database. */
export const NEVER_MS = 3_600_000;

/** Starts workers that do one work in place of every kind's; what a test has not stopped is stopped after it. */
export function useRunners(): (queue: JobQueue, work?: FakeWork, options?: Partial<RunJobsParts>) => Promise<TestRunner> {
  const started = new Set<TestRunner>();
  afterEach(() => Promise.all([...started].map((runner) => runner.stop())));
  return async (queue, { step = async () => undefined, remaining = "nothing" } = {}, options = {}) => {
    const handler: JobHandler = {
      step: (job, signal) => step(conversationOf({ job }), signal),
      remaining: typeof remaining === "function" ? remaining : async () => remaining,
    };
    const handlers = Object.fromEntries(JOB_KINDS.map((kind) => [kind, handler])) as unknown as RunJobsParts["handlers"];
    const [runs, errors]: [JobRun[], unknown[]] = [[], []];
    const told = { onRun: (run: JobRun) => runs.push(run), onError: (error: unknown) => errors.push(error) };
    const running = await runJobs({ queue, handlers, pollMs: 200, ...told, ...options });
    const runner: TestRunner = {
      runs,
      errors,
      outcomes: () => runs.map(({ outcome }) => outcome),
      async stop(graceMs) {
        started.delete(runner);
        await running.stop(graceMs);
      },
    };
    started.add(runner);
    return runner;
  };
}

/** Resolves never; rejects when the signal says so. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
}

/** What the supervisor of another process does when nobody has touched what runs for a minute. */
export async function takeOver(database: Database): Promise<void> {
  const boss = makeBoss({ database, onError: () => undefined });
  await boss.start();
  await database.query({ text: "update pgboss.job set heartbeat_on = now() - interval '1 minute' where state = 'active'" });
  await database.query({ text: "update pgboss.queue set monitor_on = null, monitor_claim_on = null, maintain_on = null" });
  await boss.supervise(QUEUE);
  await boss.stop({ graceful: false });
  await database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
}
