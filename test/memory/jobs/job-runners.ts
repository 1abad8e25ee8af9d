import {
  type JobHandler,
  type JobRun,
  type Remaining,
  runJobs,
  type RunJobsParts,
  type RunningJobs,
} from "../../../memory/jobs/run-jobs.ts";
import { JOB_KINDS } from "../../../stores/jobs/job.ts";
import type { JobQueue } from "../../../stores/jobs/job-queue.ts";
import { conversationOf } from "../../support/samples/sample-jobs.ts";

/** A worker that is running, with what it has told so far. */
export interface TestRunner extends RunningJobs {
  runs: JobRun[];
  errors: unknown[];
  outcomes(): string[];
}

export interface FakeWork {
  step: (conversationId: string, signal: AbortSignal) => Promise<void>;
  /** Default: nothing. */
  remaining?: JobHandler["remaining"] | Remaining;
}

/** Looks for jobs so rarely that what starts has been told of by the database. */
export const NEVER_MS = 3_600_000;

const started = new Set<TestRunner>();

/** Works off a queue with this in place of every kind's handler. */
export async function startRunner(
  queue: JobQueue,
  { step, remaining = "nothing" }: FakeWork,
  options: Partial<RunJobsParts> = {},
): Promise<TestRunner> {
  const handler: JobHandler = {
    step: (job, signal) => step(conversationOf({ job }), signal),
    remaining: typeof remaining === "function" ? remaining : async () => remaining,
  };
  const handlers = Object.fromEntries(JOB_KINDS.map((kind) => [kind, handler])) as unknown as RunJobsParts["handlers"];
  const runs: JobRun[] = [];
  const errors: unknown[] = [];
  const running = await runJobs({
    queue,
    handlers,
    onRun: (run) => runs.push(run),
    onError: (error) => errors.push(error),
    pollMs: 200,
    ...options,
  });
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
}

/** Stops what this test file started and has not stopped itself; for `afterEach`. */
export async function stopRunners(): Promise<void> {
  await Promise.all([...started].map((runner) => runner.stop()));
}

/** Resolves never; rejects when the signal says so. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
}
