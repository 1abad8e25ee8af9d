import type { Database, Queryable } from "../postgres/database/database.ts";
import type { OwnedConversation } from "../owner.ts";
import { conversationJobKeys, type Job, type JobKind, ownerJobKey } from "./job.ts";
import type { JobFailure } from "./job-queue.ts";
import { DEAD_LETTERS, makeBoss, QUEUE } from "./pg-boss.ts";

/** `waiting` for its first run, `retrying` after a failed one, `running`, or `dead`: failed for good. */
export type JobState = "waiting" | "retrying" | "running" | "dead";

/** How many jobs of one kind are in one state. */
export interface JobCount {
  kind: JobKind;
  state: JobState;
  count: number;
}

/** A job that failed for good, with the error of its last run. */
export interface DeadLetter {
  id: string;
  job: Job;
  failure: JobFailure;
  /** Runs it had. */
  attempts: number;
  createdAt: Date;
  diedAt: Date;
}

/** A job that waits, runs or failed for good. */
interface ListedJob {
  id: string;
  kind: JobKind;
  state: JobState;
  /** Runs it had, the present one not counted. */
  attempts: number;
  /** Of its last run; null when none failed. */
  failure: JobFailure | null;
  createdAt: Date;
}

/** What operators see of the queue, and the one thing they do with it. A tenant of null stands for all of them. */
export interface JobOverview {
  /** Jobs by kind and state. Nothing is listed of which there is none. */
  count(tenantId: string | null): Promise<JobCount[]>;
  /** How many jobs of a conversation wait or run, its user's memory agent among them. */
  pending(conversation: OwnedConversation): Promise<number>;
  /** These jobs, and those of this conversation that failed for good, oldest first. */
  listOf(conversation: OwnedConversation): Promise<ListedJob[]>;
  /** The newest dead letters, `limit` at most. */
  listDead(limit: number, tenantId: string | null): Promise<DeadLetter[]>;
  /**
   * Puts every dead letter back into the queue, of a tenant, of one kind, user and conversation or of all; returns how many. One whose work is
   * queued anew already just goes.
   */
  retryDead(which: {
    tenantId: string | null;
    kind?: JobKind | undefined;
    userId?: string | undefined;
    conversationId?: string | undefined;
  }): Promise<number>;
}

const STATE = `case when name = '${DEAD_LETTERS}' then 'dead' when state = 'created' then 'waiting' when state = 'retry' then 'retrying' else 'running' end as state`;

const COUNT = `
select data->>'kind' as kind, count(*)::int as count, ${STATE}
from pgboss.job
where name in ('${QUEUE}', '${DEAD_LETTERS}') and state <= 'active' and ($1::text is null or data->>'tenantId' = $1)
group by 1, 3 order by 1, 3`;

/** Spelt like pg-boss' own unique index of exclusive queues, so that it is the one used. */
const PENDING = `
select count(*)::int as count from pgboss.job
where name = '${QUEUE}' and coalesce(singleton_key, '') = any($1) and state <= 'active' and policy = 'exclusive'`;

/** A dead letter keeps the key of its job: pg-boss copies it. No index has it, as that queue is not exclusive. */
const LIST_OF = `
select id, data->>'kind' as kind, ${STATE}, coalesce(source_retry_count + 1, retry_count + (state = 'retry')::int) as attempts, coalesce(source_output, output) as output, coalesce(source_created_on, created_on) as "createdAt"
from pgboss.job
where (name = '${QUEUE}' and coalesce(singleton_key, '') = any($1) and state <= 'active' and policy = 'exclusive'
    or name = '${DEAD_LETTERS}' and coalesce(singleton_key, '') = any($1) and state <= 'active')
  and data->>'tenantId' = $2 and data->>'userId' = $3
order by "createdAt", id`;

const DEAD = `
select id, data, source_output, source_retry_count, source_created_on, created_on from pgboss.job
where name = '${DEAD_LETTERS}' and state <= 'active' and ($1::text is null or data->>'tenantId' = $1)
order by created_on desc, id limit $2`;

interface DeadRow {
  id: string;
  data: Job;
  source_output: Partial<JobFailure> | null;
  source_retry_count: number;
  source_created_on: Date;
  created_on: Date;
}

function toFailure(output: Partial<JobFailure> | null): JobFailure {
  return { code: output?.code ?? "internal_error", message: output?.message ?? "The process that ran the job ended." };
}

/** Jobs moved at a time. */
const REDRIVE_LIMIT = 1_000;

/** The overview of a database's jobs. Reads pg-boss' table, whose columns it documents (https://pgboss.io/sql): its own statistics are up to a minute old. */
export function makeJobOverview(database: Database): JobOverview {
  const boss = makeBoss({ database, onError: () => undefined });
  return {
    count: (tenantId) => database.query<JobCount>({ name: "job-count", text: COUNT, values: [tenantId] }),

    async pending(conversation) {
      const [row] = await database.query<{ count: number }>({
        name: "job-pending",
        text: PENDING,
        values: [[...conversationJobKeys(conversation.conversationId), ownerJobKey(conversation)]],
      });
      return row?.count ?? 0;
    },

    async listOf({ tenantId, userId, conversationId }) {
      const keys = [...conversationJobKeys(conversationId), ownerJobKey({ tenantId, userId })];
      const rows = await database.query<Omit<ListedJob, "failure"> & { output: Partial<JobFailure> | null }>({
        name: "job-list-of",
        text: LIST_OF,
        values: [keys, tenantId, userId],
      });
      return rows.map(({ output, ...job }) => ({ ...job, failure: job.state === "dead" || output ? toFailure(output) : null }));
    },

    async listDead(limit, tenantId) {
      const rows = await database.query<DeadRow>({ name: "job-dead", text: DEAD, values: [tenantId, limit] });
      return rows.map(({ id, data, source_output: output, source_retry_count, source_created_on, created_on }) => ({
        id,
        job: data,
        failure: toFailure(output),
        attempts: source_retry_count + 1,
        createdAt: source_created_on,
        diedAt: created_on,
      }));
    },

    async retryDead({ tenantId, ...about }) {
      const which = tenantId === null ? about : { tenantId, ...about };
      const filter = { data: JSON.parse(JSON.stringify(which)) as object }; // without what is undefined
      let moved = 0;
      while ((await boss.previewRedrive(DEAD_LETTERS, filter)).total > 0) {
        moved += await boss.redrive(DEAD_LETTERS, { ...filter, limit: REDRIVE_LIMIT });
      }
      // Those that could not be put back, because a newer job for the same work is queued, are marked failed: nothing is lost with them.
      await boss.deleteStoredJobs(DEAD_LETTERS);
      return moved;
    },
  };
}

export interface OldestWaiting {
  kind: JobKind;
  /** Since it was added; trying again does not change it. */
  seconds: number;
}

/** Columns as pg-boss documents them: https://pgboss.io/sql */
const OLDEST = `
select data->>'kind' as kind, greatest(0, extract(epoch from clock_timestamp() - min(created_on)))::float8 as seconds
from pgboss.job where name = '${QUEUE}' and state in ('created', 'retry') group by 1 order by 1`;

/** How old the oldest job is that waits, for its first run or another, by kind and over all tenants; kinds of which none waits are left out. */
export function findOldestWaiting(database: Queryable): Promise<OldestWaiting[]> {
  return database.query<OldestWaiting>({ name: "job-oldest", text: OLDEST });
}
