import { beforeEach } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { ClaimedJob, Job } from "../../../stores/jobs/job.ts";
import { makeJobOverview, type JobState } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue, type JobFailure, type JobQueue, type JobTransaction, type RetryPlan } from "../../../stores/jobs/job-queue.ts";
import type { Database, Queryable } from "../../../stores/postgres/database/database.ts";
import { useOpened } from "../use-opened.ts";

export const SAMPLE_FAILURE: JobFailure = { code: "model_unavailable", message: "The model is away." };

export type SampleJob = Extract<Job, { kind: "summarise" }>;

/** A job of a conversation of its own unless `fields` say otherwise. */
export function sampleJob(fields: Partial<SampleJob> = {}): SampleJob {
  return { kind: "summarise", tenantId: "tenant", userId: "user", conversationId: uuidv7(), ...fields };
}

export const conversationOf = ({ job }: { job: Job }): string => ("conversationId" in job ? job.conversationId : "");

/** Adds jobs one after the other, each in a transaction of its own: the first is the oldest. */
export async function addJobs(queue: JobQueue, ...jobs: Job[]): Promise<void> {
  for (const job of jobs) await queue.transaction((_transaction, jobTransaction) => jobTransaction.add([job]));
}

export const settleJob = (queue: JobQueue, claimed: ClaimedJob): Promise<boolean> =>
  queue.transaction((_transaction, jobs) => jobs.settle(claimed));

export const failJob = (queue: JobQueue, claimed: ClaimedJob, plan: RetryPlan, failure = SAMPLE_FAILURE): Promise<boolean> =>
  queue.transaction((_transaction, jobs) => jobs.fail(claimed, failure, plan));

export const buryJob = (queue: JobQueue, claimed: ClaimedJob, failure = SAMPLE_FAILURE): Promise<boolean> =>
  queue.transaction((_transaction, jobs) => jobs.bury(claimed, failure));

/** Claims the only job that is due. */
export async function claimOnly(queue: JobQueue): Promise<ClaimedJob> {
  const [claimed, ...others] = await queue.claim(100);
  if (!claimed || others.length > 0) throw new Error(`${claimed ? others.length + 1 : 0} jobs are due, not one`);
  return claimed;
}

/** Makes dead letters of these jobs, each after two runs. No other job may be due, and no worker be running. */
export async function killJobs(queue: JobQueue, jobs: Job[], failure = SAMPLE_FAILURE): Promise<void> {
  for (const job of jobs) {
    await addJobs(queue, job);
    await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 0, isLast: true });
    await buryJob(queue, await claimOnly(queue), failure);
  }
}

/** Brings jobs into a state; returns their claims. No other job may be due, and no worker be running. */
export async function bringJobs(queue: JobQueue, state: JobState, ...jobs: Job[]): Promise<ClaimedJob[]> {
  if (state === "dead") return killJobs(queue, jobs).then(() => []);
  await addJobs(queue, ...jobs);
  if (state === "waiting") return [];
  const claimed = await queue.claim(100);
  if (state === "retrying") for (const one of claimed) await failJob(queue, one, { retryAfterSeconds: 3_600 });
  return claimed;
}

/** Runs `work` in a transaction that is rolled back. */
export async function takeBack(queue: JobQueue, work: (jobs: JobTransaction, transaction: Queryable) => Promise<unknown>): Promise<void> {
  const takenBack = new Error("taken back");
  const working = queue.transaction(async (transaction, jobs) => {
    await work(jobs, transaction);
    throw takenBack;
  });
  await working.catch((error: unknown) => {
    if (error !== takenBack) throw error;
  });
}

/** A queue for the tests of a suite, empty before each; the functions above without their first parameter. */
export function useJobs(open: () => Promise<Database>) {
  const opened = useOpened(async () => {
    const database = await open();
    return { database, queue: makeJobQueue(database), overview: makeJobOverview(database), close: () => database.close() };
  });
  beforeEach(() => clearJobs(opened.database));
  return Object.assign(opened, {
    add: (...jobs: Job[]) => addJobs(opened.queue, ...jobs),
    bring: (state: JobState, ...jobs: Job[]) => bringJobs(opened.queue, state, ...jobs),
    claimOnly: () => claimOnly(opened.queue),
    settle: (claimed: ClaimedJob) => settleJob(opened.queue, claimed),
    fail: (claimed: ClaimedJob, plan: RetryPlan, failure?: JobFailure) => failJob(opened.queue, claimed, plan, failure),
    bury: (claimed: ClaimedJob, failure?: JobFailure) => buryJob(opened.queue, claimed, failure),
    kill: (...jobs: Job[]) => killJobs(opened.queue, jobs),
  });
}

export async function clearJobs(database: Database): Promise<void> {
  await database.query({ text: "delete from pgboss.job" });
}
