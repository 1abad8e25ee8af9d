import type { Database, Queryable, StatementValue } from "../postgres/database.ts";
import type { Owner } from "../owner.ts";
import { conversationJobKeys, jobKey, type ClaimedJob, type Job } from "./job.ts";
import { DEAD_LETTERS, makeBoss, QUEUE, toBossDatabase, type Affected } from "./make-boss.ts";

/** Why a job failed, as operators may read it. */
export interface JobFailure {
  code: string;
  message: string;
}

/** When a job that failed is tried again; without `retryAfterSeconds` the queue's own delays hold. */
export interface RetryPlan {
  retryAfterSeconds?: number;
  /** The next try is the last: when it fails too, the job is a dead letter. */
  isLast?: boolean;
}

/** What can be done with jobs inside a transaction: it holds or falls with everything else written there. */
export interface JobTransaction {
  /** Adds jobs, to be started at once or after a while; one that already waits or runs under the same key stands for the new one. */
  add(jobs: readonly Job[], startAfterSeconds?: number): Promise<void>;
  /** Removes a job that is done; false when it is no longer this claim's, because it was erased or taken over. */
  settle(claimed: ClaimedJob): Promise<boolean>;
  /** Gives a job back to be tried again; false, and nothing is done, when it is no longer this claim's. */
  fail(claimed: ClaimedJob, failure: JobFailure, plan: RetryPlan): Promise<boolean>;
  /** Removes every job of a conversation: waiting, running and dead. Returns how many there were. */
  erase(conversation: Owner & { conversationId: string }): Promise<number>;
  /** Removes every job of a user. Returns how many there were. */
  eraseOwner(owner: Owner): Promise<number>;
}

/** The durable queue of background jobs: pg-boss in the same Postgres. */
export interface JobQueue {
  /** Runs `work` in one database transaction. */
  transaction<Result>(work: (transaction: Queryable, jobs: JobTransaction) => Promise<Result>): Promise<Result>;
  /** Takes up to `limit` jobs that are due, oldest first. */
  claim(limit: number): Promise<ClaimedJob[]>;
  /** Says that the process is alive and at work on these; returns those that are still its own. */
  touch(claimed: readonly ClaimedJob[]): Promise<ClaimedJob[]>;
  /** Takes back jobs of dead processes from now on, and calls `onJobs` whenever some may be waiting. Returns the end of both. */
  watch(onJobs: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>>;
}

/**
 * pg-boss finds and deletes jobs one key and queue at a time: its table, whose columns it documents, in one go. A dead letter keeps the key
 * of its job. A job that failed for good is there twice, as a failed one and as the dead letter, and counts once. https://pgboss.io/sql
 */
const ERASE_OWNER = `
delete from pgboss.job where name in ('${QUEUE}', '${DEAD_LETTERS}') and data->>'tenantId' = $1 and data->>'userId' = $2`;
const ERASE_CONVERSATION = `${ERASE_OWNER} and singleton_key = any($3)`;
const COUNTS = "returning state <> 'failed' as counts";

/** Seconds between two looks for jobs of dead processes: with the heartbeat of 10, one is taken over within 20. */
const SUPERVISE_SECONDS = 5;

/** A queue over a database in which `migrate` has installed it. */
export function makeJobQueue(database: Database): JobQueue {
  const boss = makeBoss({ database, onError: () => undefined });
  // pg-boss looks a queue up once, over the database itself. Inside a transaction on the embedded database, whose only connection is
  // taken, that look would wait for ever: so it happens before.
  let known: Promise<unknown> | undefined;
  const lookUp = (): Promise<unknown> => {
    known ??= Promise.all([QUEUE, DEAD_LETTERS].map((queue) => boss.findJobs(queue, { id: crypto.randomUUID() }))).catch((error) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  function withJobs(transaction: Queryable): JobTransaction {
    const db = (name?: string) => ({ db: toBossDatabase(transaction, name) });
    const erase = async (name: string, text: string, values: StatementValue[]): Promise<number> => {
      const rows = await transaction.query<{ counts: boolean }>({ name, text: `${text} ${COUNTS}`, values });
      return rows.filter(({ counts }) => counts).length;
    };
    return {
      async add(jobs, startAfter = 0) {
        if (jobs.length === 0) return;
        await boss.insert(
          QUEUE,
          jobs.map((job) => ({ data: job, singletonKey: jobKey(job), ...(startAfter > 0 ? { startAfter } : {}) })),
          db("job-add"),
        );
      },
      async settle({ id, retryCount }) {
        // Deleted, not completed: nothing is left to read, to vacuum later or to erase.
        const { affected } = (await boss.deleteJob(QUEUE, [{ id, retryCount }], db("job-settle"))) as Affected;
        return affected === 1;
      },
      async fail({ id, retryCount }, failure, { retryAfterSeconds, isLast = false }) {
        const { affected } = (await boss.fail(QUEUE, [{ id, retryCount }], failure, db("job-fail"))) as Affected;
        if (affected === 0) return false;
        if (retryAfterSeconds === undefined && !isLast) return true;
        const startAfter = retryAfterSeconds === undefined ? {} : { startAfter: retryAfterSeconds };
        await boss.update(QUEUE, undefined, { id, ...startAfter, ...(isLast ? { retryLimit: 0 } : {}), ...db() });
        return true;
      },
      erase: ({ tenantId, userId, conversationId }) =>
        erase("job-erase", ERASE_CONVERSATION, [tenantId, userId, conversationJobKeys(conversationId)]),
      eraseOwner: ({ tenantId, userId }) => erase("job-erase-owner", ERASE_OWNER, [tenantId, userId]),
    };
  }

  return {
    async transaction(work) {
      await lookUp();
      return database.transaction((transaction) => work(transaction, withJobs(transaction)));
    },

    async claim(limit) {
      const claimed = await boss.fetch<Job>(QUEUE, {
        batchSize: limit,
        includeMetadata: true,
        db: toBossDatabase(database, `job-claim-${limit}`),
      });
      return claimed.map(({ id, retryCount, data, createdOn }) => ({ id, retryCount, job: data, createdAt: createdOn }));
    },

    async touch(claimed) {
      const held = claimed.map(({ id, retryCount }) => ({ id, retryCount }));
      const { settled } = (await boss.touch(QUEUE, held, { db: toBossDatabase(database, "job-touch") })) as Affected;
      return claimed.filter(({ id }) => settled?.includes(id) ?? true);
    },

    async watch(onJobs, onError) {
      const supervisor = makeBoss(
        { database, onError, onJobs },
        {
          migrate: true, // finishes index builds that an update of pg-boss left to the background
          useListenNotify: true,
          supervise: true,
          superviseIntervalSeconds: SUPERVISE_SECONDS,
          monitorIntervalSeconds: SUPERVISE_SECONDS,
          maintenanceIntervalSeconds: 60,
          flowIntervalSeconds: 3_600, // jobs here do not depend on each other
        },
      );
      await supervisor.start();
      return () => supervisor.stop({ graceful: false });
    },
  };
}
