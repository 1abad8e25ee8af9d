import type { JobWithMetadata } from "pg-boss";
import type { Database, Queryable, StatementValue } from "../postgres/database/database.ts";
import type { OwnedConversation, Owner } from "../owner.ts";
import { conversationJobKeys, jobKey, type ClaimedJob, type Job } from "./job.ts";
import { DEAD_LETTERS, makeBoss, QUEUE, toBossDatabase, type Affected } from "./pg-boss.ts";

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
  /** There is no other try: the job is a dead letter at once. */
  isOver?: boolean;
}

/** What can be done with jobs inside a transaction: it holds or falls with everything else written there. */
export interface JobTransaction {
  /** Adds jobs, to be started at once or after a while; one that already waits or runs under the same key stands for the new one. */
  add(jobs: readonly Job[], startAfterSeconds?: number): Promise<void>;
  /** Adds the job that writes the files of an embedded database anew; a Postgres of its own vacuums by itself. */
  addVacuum(): Promise<void>;
  /** Removes a job that is done; false when it is no longer this claim's, because it was erased or taken over. */
  settle(claimed: ClaimedJob): Promise<boolean>;
  /** Gives a job back to be tried again; false, and nothing is done, when it is no longer this claim's. */
  fail(claimed: ClaimedJob, failure: JobFailure, plan: RetryPlan): Promise<boolean>;
  /** Removes every job of a conversation: waiting, running and dead. Returns how many there were. */
  erase(conversation: OwnedConversation): Promise<number>;
  /** Removes every job of a user. Returns how many there were. */
  eraseOwner(owner: Owner): Promise<number>;
}

/** The durable queue of background jobs: pg-boss in the same Postgres. */
export interface JobQueue {
  /** Runs `work` in one database transaction. */
  transaction<Result>(work: (transaction: Queryable, jobs: JobTransaction) => Promise<Result>): Promise<Result>;
  /** Takes up to `limit` jobs that are due, oldest first. */
  claim(limit: number): Promise<ClaimedJob[]>;
  /** Keeps, before a run begins, how many runs before it never ended; false when the job is no longer this claim's. */
  keepUnended(claimed: ClaimedJob): Promise<boolean>;
  /** Says that the process is alive and at work on these; returns those that are still its own. */
  touch(claimed: readonly ClaimedJob[]): Promise<ClaimedJob[]>;
  /** Takes back jobs of dead processes from now on, and calls `onJobs` whenever some may be waiting. Returns the end of both. */
  watch(onJobs: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>>;
}

/**
 * pg-boss finds and deletes jobs one key and queue at a time: its table, whose columns it documents, in one go. A dead letter keeps the key
 * of its job. A job that failed for good is there twice, as a failed one and as the dead letter, and counts once. https://pgboss.io/sql
 */
const OF_OWNER = `name in ('${QUEUE}', '${DEAD_LETTERS}') and data->>'tenantId' = $1 and data->>'userId' = $2`;
const ERASE_CONVERSATION = `delete from pgboss.job where ${OF_OWNER} and singleton_key = any($3)`;
const ERASE_OWNER = `delete from pgboss.job where (name, id) in (select name, id from pgboss.job where ${OF_OWNER} limit $3)`;
const COUNTS = "returning state <> 'failed' as counts";
/** Jobs of a user that one statement removes: there are two for each conversation with something to do. */
const ERASED_AT_ONCE = 5_000;

/** By then the request that erased is answered. */
const VACUUM_AFTER_SECONDS = 1;

/** What is kept with a job besides what it is about. */
type StoredJob = Job & { unended?: number };

const THIS_CLAIM = `name = '${QUEUE}' and id = $1 and retry_count = $2 and state = 'active'`;
const KEEP_UNENDED = `update pgboss.job set data = data || jsonb_build_object('unended', $3::int) where ${THIS_CLAIM} returning id`;
/** No try is left, and one that somebody asks for begins anew. */
const END_TRIES = `update pgboss.job set data = data - 'unended', retry_limit = retry_count where ${THIS_CLAIM}`;

/** A failure that this service did not write is pg-boss' own: nobody was there to end the run. */
function toClaimed({ id, retryCount, data, createdOn, output }: JobWithMetadata<StoredJob>): ClaimedJob {
  const { unended = 0, ...job } = data;
  const wasLeft = output !== null && output !== undefined && !("code" in output);
  return { id, retryCount, job, createdAt: createdOn, unended: wasLeft ? unended + 1 : unended };
}

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
    const erase = (name: string, text: string, values: StatementValue[]): Promise<{ counts: boolean }[]> =>
      transaction.query<{ counts: boolean }>({ name, text: `${text} ${COUNTS}`, values });
    const countOf = (rows: { counts: boolean }[]): number => rows.filter(({ counts }) => counts).length;
    async function add(jobs: readonly Job[], startAfter = 0): Promise<void> {
      if (jobs.length === 0) return;
      await boss.insert(
        QUEUE,
        jobs.map((job) => ({ data: job, singletonKey: jobKey(job), ...(startAfter > 0 ? { startAfter } : {}) })),
        db("job-add"),
      );
    }
    return {
      add,
      addVacuum: async () => (database.isEmbedded ? add([{ kind: "vacuum" }], VACUUM_AFTER_SECONDS) : undefined),
      async settle({ id, retryCount }) {
        // Deleted, not completed: nothing is left to read, to vacuum later or to erase.
        const { affected } = (await boss.deleteJob(QUEUE, [{ id, retryCount }], db("job-settle"))) as Affected;
        return affected === 1;
      },
      async fail({ id, retryCount }, failure, { retryAfterSeconds, isLast = false, isOver = false }) {
        if (isOver) await transaction.query({ name: "job-end-tries", text: END_TRIES, values: [id, retryCount] });
        const { affected } = (await boss.fail(QUEUE, [{ id, retryCount }], failure, db("job-fail"))) as Affected;
        if (affected === 0) return false;
        if (isOver) return true;
        if (retryAfterSeconds === undefined && !isLast) return true;
        const startAfter = retryAfterSeconds === undefined ? {} : { startAfter: retryAfterSeconds };
        await boss.update(QUEUE, undefined, { id, ...startAfter, ...(isLast ? { retryLimit: 0 } : {}), ...db() });
        return true;
      },
      erase: async ({ tenantId, userId, conversationId }) =>
        countOf(await erase("job-erase", ERASE_CONVERSATION, [tenantId, userId, conversationJobKeys(conversationId)])),
      async eraseOwner({ tenantId, userId }) {
        for (let count = 0; ;) {
          const rows = await erase("job-erase-owner", ERASE_OWNER, [tenantId, userId, ERASED_AT_ONCE]);
          count += countOf(rows);
          if (rows.length < ERASED_AT_ONCE) return count;
        }
      },
    };
  }

  return {
    async transaction(work) {
      await lookUp();
      return database.transaction((transaction) => work(transaction, withJobs(transaction)));
    },

    async claim(limit) {
      const claimed = await boss.fetch<StoredJob>(QUEUE, {
        batchSize: limit,
        includeMetadata: true,
        db: toBossDatabase(database, `job-claim-${limit}`),
      });
      return claimed.map(toClaimed);
    },

    async keepUnended({ id, retryCount, unended }) {
      const kept = await database.query({ name: "job-keep-unended", text: KEEP_UNENDED, values: [id, retryCount, unended] });
      return kept.length > 0;
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
