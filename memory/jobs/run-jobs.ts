import { setImmediate as letOthersRun, setTimeout as sleep } from "node:timers/promises";
import { AppError, toAppError } from "../../errors/app-error.ts";
import { abortable } from "../../turn/deadlines.ts";
import { NOOP_OBSERVER, type Observer, type WorkFacts } from "../../observe/observer.ts";
import type { ClaimedJob, Job, JobKind } from "../../stores/jobs/job.ts";
import type { DoneCondition, JobQueue, RetryPlan } from "../../stores/jobs/job-queue.ts";
import type { Queryable } from "../../stores/postgres/database/database.ts";

/** A job's remaining work: nothing, more steps, more after a pause, or nothing because its subject was erased. */
export type Remaining = "nothing" | "more" | "later" | "erased";

export interface JobHandler<Kind extends Job = Job> {
  /** Does one bounded step and has saved it when it resolves. */
  step(job: Kind, signal: AbortSignal): Promise<void>;
  /**
   * The work left after a step, asked in the transaction that ends the job. It takes the same locks as the transactions that add such jobs:
   * they see the job gone and add one, or this sees their work.
   */
  remaining(transaction: Queryable, job: Kind, stepFailed: boolean): Promise<Remaining>;
  /** Called when the last try has failed, in the transaction that ends the job, before `remaining`. Default: only a dead letter stays. */
  giveUp?(transaction: Queryable, job: Kind, error: AppError): Promise<void>;
  /** The "nothing" of `remaining` as a condition with the same locks. Most jobs end by it, in one statement. */
  doneWhen?(job: Kind): DoneCondition | null;
  /** How long a job with more work `later` pauses. */
  pauseSeconds?: number;
}

/** How one run of a job ended. `again`: it has more to do. `lost`: it was erased or another process has it. */
export type JobOutcome = "done" | "again" | "failed" | "lost" | "handed_back";

/** One ended run of a job. */
export interface JobRun {
  kind: JobKind;
  outcome: JobOutcome;
  /** Milliseconds. */
  ms: number;
  /** Why its step failed, also when no work is left. */
  error?: AppError;
}

export type JobHandlers = { [Kind in JobKind]: JobHandler<Extract<Job, { kind: Kind }>> };

export interface RunJobsParts {
  queue: JobQueue;
  handlers: JobHandlers;
  /** Called with every run when it ends. */
  onRun?: (run: JobRun) => void;
  /** Called with failures of the queue itself, such as an unreachable database, and the work it was doing. */
  onError?: (error: unknown, work: string) => void;
  /** Jobs at work at a time. They mostly wait for a model, so a hanging one leaves room. Default 8. */
  concurrency?: number;
  /** Milliseconds between looks for retries and missed notices. Default 2,500. */
  pollMs?: number;
  /** Awaited before jobs are taken. Default: nothing. */
  whenQuiet?: () => Promise<void>;
  /** Default: nobody. */
  observer?: Observer;
  /** Runs the step of a job. Default: as it is. */
  within?: <Result>(claimed: ClaimedJob, step: () => Result) => Result;
}

/** The jobs of this process. */
export interface RunningJobs {
  /** Takes no new jobs, gives running ones `graceMs` milliseconds (0), then hands them back. */
  stop(graceMs?: number): Promise<void>;
}

const MINUTE_SECONDS = 60;
/** Up to this age the queue's own delays hold: doubling, to 10 seconds. */
const EARLY_SECONDS = 10 * MINUTE_SECONDS;
/** A job of this age becomes a dead letter. */
const LIFE_SECONDS = 24 * 60 * MINUTE_SECONDS;
const LONGEST_DELAY_SECONDS = 10 * MINUTE_SECONDS;

/**
 * Plans a retry by the job's age: first by the queue's delays (stores/postgres/database/pg-boss.ts), then after a fortieth of its age,
 * after a day no more.
 */
export function planRetry(ageSeconds: number): RetryPlan {
  if (ageSeconds < EARLY_SECONDS) return {};
  return planAfter(Math.min(LONGEST_DELAY_SECONDS, Math.round(ageSeconds / 40)), ageSeconds);
}

const planAfter = (retryAfterSeconds: number, age: number): RetryPlan => ({
  retryAfterSeconds,
  isLast: age + retryAfterSeconds >= LIFE_SECONDS,
});

/** After so many runs that never ended, perhaps because of another job, a job runs alone. */
const UNENDED_BESIDE_OTHERS = 2;
/** Two runs beside others and three alone. */
const MOST_UNENDED = 5;

const runsAlone = ({ unended }: Pick<ClaimedJob, "unended">): boolean => unended >= UNENDED_BESIDE_OTHERS;
const ageSeconds = ({ createdAt }: ClaimedJob): number => (Date.now() - createdAt.getTime()) / 1_000;
/** Three times in the heartbeat of 10 seconds. */
const TOUCH_MS = 3_000;

type Ended = Pick<JobRun, "outcome" | "error">;

/** Runs the queue's jobs in this process as soon as they are committed: one for each conversation and kind, several side by side. */
export async function runJobs(parts: RunJobsParts): Promise<RunningJobs> {
  const { queue, handlers, concurrency = 8, pollMs = 2_500, whenQuiet } = parts;
  const { onRun = () => undefined, onError = () => undefined, observer = NOOP_OBSERVER, within = (_claimed, step) => step() } = parts;
  const atWork = new Map<ClaimedJob, { ended: Promise<void>; claim: AbortController }>();
  let stopping = false;
  let filling = false;
  let filled: Promise<void> = Promise.resolve();
  let calledAgain = false;
  /** The last job that runs alone. If the process dies, the culprit is known. */
  let lastAlone: Promise<unknown> = Promise.resolve();
  let moreWait = false;

  /** The compiler cannot see that a job's kind and its handler belong together. */
  const handlerOf = ({ job }: ClaimedJob): JobHandler => handlers[job.kind];

  /** Ends a run. What is left after a failure is tried again by the plan. */
  async function end(claimed: ClaimedJob, failure?: { error: AppError; plan: RetryPlan }): Promise<Ended> {
    const condition = failure ? null : handlerOf(claimed).doneWhen?.(claimed.job);
    if (condition && (await queue.settleIf(claimed, condition))) return { outcome: "done" };
    return queue.transaction(async (transaction, jobs): Promise<Ended> => {
      const dies = failure !== undefined && claimed.isLast && !stopping;
      if (dies) await handlerOf(claimed).giveUp?.(transaction, claimed.job, failure.error);
      const remaining = await handlerOf(claimed).remaining(transaction, claimed.job, failure !== undefined);
      if (failure && remaining === "more") {
        const why = { code: failure.error.code, message: failure.error.message };
        if (!(await (dies ? jobs.bury(claimed, why) : jobs.fail(claimed, why, failure.plan)))) return { outcome: "lost" };
        return stopping ? { outcome: "handed_back" } : { outcome: "failed", error: failure.error };
      }
      if (!(await jobs.settle(claimed))) return { outcome: "lost" };
      if (remaining === "more") {
        await jobs.add([claimed.job]); // behind those that wait already
        return { outcome: "again" };
      }
      if (remaining === "later") await jobs.add([claimed.job], () => handlerOf(claimed).pauseSeconds ?? 0);
      return { outcome: "done", ...(failure && remaining === "nothing" && !stopping ? { error: failure.error } : {}) };
    });
  }

  async function runOnce(claimed: ClaimedJob, signal: AbortSignal): Promise<Ended> {
    if (claimed.unended >= MOST_UNENDED) {
      const message = `The job "${claimed.job.kind}" ran alone, and its process died or was held up, ${MOST_UNENDED - UNENDED_BESIDE_OTHERS} times.${claimed.isLast ? "" : " It is tried again, alone, in an hour."}`;
      return end(claimed, { error: new AppError("internal_error", message), plan: planAfter(60 * MINUTE_SECONDS, ageSeconds(claimed)) });
    }
    try {
      if (claimed.unended > 0 && !(await queue.keepUnended(claimed))) return { outcome: "lost" };
      await within(claimed, () => handlerOf(claimed).step(claimed.job, signal));
      return await end(claimed);
    } catch (thrown) {
      const plan = stopping ? { retryAfterSeconds: 0 } : planRetry(ageSeconds(claimed));
      return end(claimed, { error: toAppError(thrown), plan });
    }
  }

  /** Waits for all other jobs with live claims; none is claimed meanwhile. */
  function runAlone(claimed: ClaimedJob, signal: AbortSignal): Promise<Ended> {
    const over = (work: Promise<unknown>, claim: AbortSignal) => abortable(() => work, claim).catch(() => undefined);
    const others = [...atWork].filter(([job]) => !runsAlone(job)).map(([, { ended, claim }]) => over(ended, claim.signal));
    const ended = Promise.all([lastAlone, ...others]).then(() => runOnce(claimed, signal));
    lastAlone = over(ended, signal);
    return ended;
  }

  async function run(claimed: ClaimedJob, claim: AbortController, learn: (facts: WorkFacts) => void): Promise<void> {
    const began = performance.now();
    await letOthersRun(); // the embedded database holds the event loop
    const ended = await (runsAlone(claimed) ? runAlone : runOnce)(claimed, claim.signal);
    learn({ outcome: ended.outcome });
    onRun({ kind: claimed.job.kind, ms: performance.now() - began, ...ended });
  }

  function start(claimed: ClaimedJob): void {
    const claim = new AbortController();
    // When even `end` fails, the job stays claimed until its heartbeat is over.
    const ended = observer
      .watch({ work: "job", kind: claimed.job.kind }, (learn) => run(claimed, claim, learn))
      .catch((error: unknown) => onError(error, `the end of a job "${claimed.job.kind}"`))
      .then(() => {
        atWork.delete(claimed);
        if (moreWait) fill();
      });
    atWork.set(claimed, { ended, claim });
  }

  /** Claims jobs while there is room, until no more are due. */
  async function fillOnce(): Promise<void> {
    filling = true;
    try {
      do {
        calledAgain = false;
        const room = concurrency - atWork.size;
        moreWait = room <= 0 || [...atWork].some(([job, { claim }]) => runsAlone(job) && !claim.signal.aborted);
        if (stopping || moreWait) return;
        const claimed = await queue.claim(room);
        moreWait = claimed.length === room;
        claimed.forEach(start);
      } while (calledAgain);
    } catch (error) {
      onError(error, "taking jobs from the queue");
    } finally {
      filling = false;
    }
  }

  function fill(): void {
    if (filling) calledAgain = true;
    else filled = fillOnce();
  }

  async function touch(): Promise<void> {
    const claimed = [...atWork.keys()];
    if (claimed.length === 0) return;
    const held = new Set(await queue.touch(claimed));
    for (const job of claimed) {
      if (!held.has(job)) atWork.get(job)?.claim.abort(new AppError("turn_superseded", "Another process has taken the job over."));
    }
  }

  /** Several calls while it waits are one. */
  let quieting: Promise<void> | null = null;
  const fillWhenQuiet = (): void => {
    quieting ??= (whenQuiet?.() ?? Promise.resolve()).finally(() => (quieting = null)).then(fill);
  };
  const stopWatching = await queue.watch(fillWhenQuiet, (error) => onError(error, "listening for jobs"));
  const poll = setInterval(fillWhenQuiet, pollMs);
  let touching: Promise<void> | null = null;
  const heartbeat = setInterval(() => {
    touching ??= touch()
      .catch((error: unknown) => onError(error, "keeping jobs"))
      .finally(() => (touching = null));
  }, TOUCH_MS);
  fill();

  return {
    async stop(graceMs = 0) {
      stopping = true;
      clearInterval(poll);
      await stopWatching();
      await filled; // claimed jobs are at work from here on
      const allEnded = Promise.all([...atWork.values()].map(({ ended }) => ended));
      await Promise.race([allEnded, sleep(graceMs, undefined, { ref: false })]);
      for (const { claim } of atWork.values()) claim.abort(new AppError("shutting_down", "The process that ran the job stopped."));
      await allEnded;
      clearInterval(heartbeat);
      await touching; // the database may be closed next
    },
  };
}
