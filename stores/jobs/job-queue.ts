import type { JobWithMetadata } from "pg-boss";
import type { Database, Queryable, StatementValue } from "../postgres/database/database.ts";
import type { OwnedConversation, Owner } from "../../turn/owner.ts";
import { ADD_JOBS, jobsValue } from "./add-jobs.ts";
import { conversationJobKeys, type ClaimedJob, type Job } from "./job.ts";
import { DEAD_LETTERS, makeBoss, QUEUE, toBossDatabase, type Affected } from "../postgres/database/pg-boss.ts";

/** A statement that returns a row when a job has nothing left. It must read what it waits for by a volatile function. */
export interface DoneCondition {
  name: string;
  text: string;
  values: readonly StatementValue[];
}

export interface JobFailure {
  code: string;
  message: string;
}

/** Without `retryAfterSeconds` the delays of the queue apply. */
export interface RetryPlan {
  retryAfterSeconds?: number;
  isLast?: boolean;
}

export interface JobTransaction {
  /** Adds no job whose key waits or runs already. `startAfter`: the seconds that a job waits; default 0. */
  add(jobs: readonly Job[], startAfter?: (job: Job) => number): Promise<void>;
  /** Adds the vacuum of an embedded database. A real Postgres vacuums itself. */
  addVacuum(): Promise<void>;
  /** False when the claim is lost. */
  settle(claimed: ClaimedJob): Promise<boolean>;
  /** Leaves it for another try; false when the claim is lost. */
  fail(claimed: ClaimedJob, failure: JobFailure, plan: RetryPlan): Promise<boolean>;
  /** Makes it a dead letter; false when the claim is lost. */
  bury(claimed: ClaimedJob, failure: JobFailure): Promise<boolean>;
  /** Returns the number of jobs. */
  erase(conversation: OwnedConversation): Promise<number>;
  eraseOwner(owner: Owner): Promise<number>;
}

/** The durable queue of background jobs: pg-boss in the same Postgres. */
export interface JobQueue {
  transaction<Result>(work: (transaction: Queryable, jobs: JobTransaction) => Promise<Result>): Promise<Result>;
  /** Oldest first. */
  claim(limit: number): Promise<ClaimedJob[]>;
  /** Settles the job in the condition's statement; false when that returns no row, or the claim is lost. */
  settleIf(claimed: ClaimedJob, condition: DoneCondition): Promise<boolean>;
  /** Stores how many earlier runs never ended; false when the claim is lost. */
  keepUnended(claimed: ClaimedJob): Promise<boolean>;
  /** Renews the heartbeat; returns the claims that still hold. */
  touch(claimed: readonly ClaimedJob[]): Promise<ClaimedJob[]>;
  /** Takes over jobs of dead processes; calls `onJobs` when jobs may be waiting. Returns the stop. */
  watch(onJobs: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>>;
}

/**
 * One statement on pg-boss' documented table replaces a call for each key and queue. Only one row of a dead job is counted.
 * https://pgboss.io/sql
 */
const OF_OWNER = `name in ('${QUEUE}', '${DEAD_LETTERS}') and data->>'tenantId' = $1 and data->>'userId' = $2`;
const ERASE_CONVERSATION = `delete from pgboss.job where ${OF_OWNER} and singleton_key = any($3)`;
const ERASE_OWNER = `delete from pgboss.job where (name, id) in (select name, id from pgboss.job where ${OF_OWNER} limit $3)`;
const COUNTS = "returning state <> 'failed' as counts";
const ERASE_BATCH = 5_000;

/** Later than the answer to the request. */
const VACUUM_AFTER_SECONDS = 1;

/** `last`: its next failure is its end. pg-boss does not know it, so that no job dies without its handler. */
type StoredJob = Job & { unended?: number; last?: boolean };

const THIS_CLAIM = `name = '${QUEUE}' and id = $1 and retry_count = $2 and state = 'active'`;
const KEEP = `update pgboss.job set data = data || $3::jsonb where ${THIS_CLAIM} returning id`;
/** SQL: a job's data without earlier runs and age. */
export const DATA_ANEW = "data - array['unended', 'last']";
const NO_MORE_TRIES = `update pgboss.job set retry_limit = 0, data = ${DATA_ANEW} where ${THIS_CLAIM}`;

/** An output without our code comes from pg-boss: the process died. */
function toClaimed(stored: JobWithMetadata<StoredJob>, claimedAt: number): ClaimedJob {
  const { id, retryCount, retryLimit, data, createdOn, startAfter, output } = stored;
  const { unended = 0, last = false, ...job } = data;
  const wasLeft = output !== null && output !== undefined && !("code" in output);
  return {
    id,
    retryCount,
    job,
    claimedAt,
    createdAt: createdOn,
    dueAt: startAfter,
    unended: wasLeft ? unended + 1 : unended,
    isLast: last || retryCount >= retryLimit,
  };
}

/** False when the claim is lost. */
async function keep(queryable: Queryable, { id, retryCount }: ClaimedJob, facts: Omit<StoredJob, keyof Job>): Promise<boolean> {
  const values = [id, retryCount, JSON.stringify(facts)];
  return (await queryable.query({ name: "job-keep", text: KEEP, values })).length > 0;
}

/** With the heartbeat of 10 seconds a job of a dead process is taken over within 25. Each look is nine statements. */
const SUPERVISE_SECONDS = 15;

export function makeJobQueue(database: Database): JobQueue {
  const boss = makeBoss({ database, onError: () => undefined });
  // pg-boss looks up a queue once, over the database. Inside a transaction of the embedded database, with its single connection, that would
  // wait for ever.
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
    const fail = async ({ id, retryCount }: ClaimedJob, failure: JobFailure): Promise<boolean> => {
      const { affected } = (await boss.fail(QUEUE, [{ id, retryCount }], failure, db("job-fail"))) as Affected;
      return affected > 0;
    };
    const countOf = (rows: { counts: boolean }[]): number => rows.filter(({ counts }) => counts).length;
    async function add(jobs: readonly Job[], startAfter?: (job: Job) => number): Promise<void> {
      if (jobs.length === 0) return;
      await transaction.query({ name: "job-add", text: ADD_JOBS, values: [jobsValue(jobs, startAfter)] });
    }
    return {
      add,
      addVacuum: async () => (database.isEmbedded ? add([{ kind: "vacuum" }], () => VACUUM_AFTER_SECONDS) : undefined),
      async settle({ id, retryCount }) {
        // Deleted, not completed: no row is left to vacuum or erase.
        const { affected } = (await boss.deleteJob(QUEUE, [{ id, retryCount }], db("job-settle"))) as Affected;
        return affected === 1;
      },
      async fail(claimed, failure, { retryAfterSeconds, isLast = false }) {
        if (isLast) await keep(transaction, claimed, { last: true });
        if (!(await fail(claimed, failure))) return false;
        if (retryAfterSeconds !== undefined)
          await boss.update(QUEUE, undefined, { id: claimed.id, startAfter: retryAfterSeconds, ...db() });
        return true;
      },
      async bury(claimed, failure) {
        await transaction.query({ name: "job-no-more-tries", text: NO_MORE_TRIES, values: [claimed.id, claimed.retryCount] });
        return fail(claimed, failure);
      },
      erase: async ({ tenantId, userId, conversationId }) =>
        countOf(await erase("job-erase", ERASE_CONVERSATION, [tenantId, userId, conversationJobKeys(conversationId)])),
      async eraseOwner({ tenantId, userId }) {
        for (let count = 0; ;) {
          const rows = await erase("job-erase-owner", ERASE_OWNER, [tenantId, userId, ERASE_BATCH]);
          count += countOf(rows);
          if (rows.length < ERASE_BATCH) return count;
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
      const claimedAt = performance.now();
      const claimed = await boss.fetch<StoredJob>(QUEUE, {
        batchSize: limit,
        includeMetadata: true,
        db: toBossDatabase(database, `job-claim-${limit}`),
      });
      return claimed.map((stored) => toClaimed(stored, claimedAt));
    },

    async settleIf({ id, retryCount }, { name, text, values }) {
      const [first, second] = [values.length + 1, values.length + 2];
      const settled = await database.query({
        name,
        text: `with condition as materialized (${text})
          delete from pgboss.job using condition
          where name = '${QUEUE}' and id = $${first} and retry_count = $${second} and state = 'active' returning id`,
        values: [...values, id, retryCount],
      });
      return settled.length === 1;
    },

    keepUnended: (claimed) => keep(database, claimed, { unended: claimed.unended }),

    async touch(claimed) {
      const held = claimed.map(({ id, retryCount }) => ({ id, retryCount }));
      const { settled } = (await boss.touch(QUEUE, held, { db: toBossDatabase(database, "job-touch") })) as Affected;
      // pg-boss names jobs, not claims: only the newer of two claims of a job holds.
      const isNewest = ({ id, retryCount }: ClaimedJob) => !claimed.some((other) => other.id === id && other.retryCount > retryCount);
      return claimed.filter((claim) => (settled?.includes(claim.id) ?? true) && isNewest(claim));
    },

    async watch(onJobs, onError) {
      const supervisor = makeBoss(
        { database, onError, onJobs },
        {
          migrate: true, // finishes index builds of a pg-boss update
          useListenNotify: true,
          supervise: true,
          superviseIntervalSeconds: SUPERVISE_SECONDS,
          monitorIntervalSeconds: SUPERVISE_SECONDS,
          maintenanceIntervalSeconds: 60,
          flowIntervalSeconds: 3_600,
        },
      );
      await supervisor.start();
      return () => supervisor.stop({ graceful: false });
    },
  };
}
