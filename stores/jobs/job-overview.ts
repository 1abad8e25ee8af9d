import { type Database, type Queryable, queryRow } from "../postgres/database/database.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import { TELL } from "./add-jobs.ts";
import { conversationJobKeys, type Job, type JobKind, ownerJobKey } from "./job.ts";
import { DATA_ANEW, type JobFailure } from "./job-queue.ts";
import { DEAD_LETTERS, makeBoss, QUEUE } from "../postgres/database/pg-boss.ts";

/** `retrying` waits after a failed run; `dead` failed for good. */
export type JobState = "waiting" | "retrying" | "running" | "dead";

/** The jobs of one kind in one state. */
export interface JobCount {
  kind: JobKind;
  state: JobState;
  count: number;
}

/** A job that failed for good. */
export interface DeadLetter {
  id: string;
  job: Job;
  failure: JobFailure;
  attempts: number;
  createdAt: Date;
  diedAt: Date;
}

interface ListedJob {
  id: string;
  kind: JobKind;
  state: JobState;
  attempts: number;
  failure: JobFailure | null;
  createdAt: Date;
}

/** The operators' view of the queue. A null tenant stands for all. */
export interface JobOverview {
  count(tenantId: string | null): Promise<JobCount[]>;
  /** Counts the jobs of a conversation and of its user's memory agent; those that wait for further turns start now. */
  hasten(conversation: OwnedConversation): Promise<number>;
  /** The same jobs, and dead ones, oldest first. */
  listOf(conversation: OwnedConversation): Promise<ListedJob[]>;
  /** Newest first. */
  listDead(limit: number, tenantId: string | null): Promise<DeadLetter[]>;
  /** Puts matching dead letters back into the queue; returns their number. One whose work is queued again is dropped. */
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

/** Spelt like the unique index of pg-boss, so that Postgres uses it. */
const OF_KEYS = `name = '${QUEUE}' and coalesce(singleton_key, '') = any($1) and state <= 'active' and policy = 'exclusive'`;

/** Without those that wait after a failure. */
const HASTEN = `
with hastened as (
  update pgboss.job set start_after = pgboss.job_now() where ${OF_KEYS} and state = 'created' and start_after > pgboss.job_now() returning 1
), told as (
  select ${TELL} from hastened limit 1
)
select count(*)::int as count, (select count(*) from told) as told from pgboss.job where ${OF_KEYS}`;

/** Dead letters have no index on the key. */
const LIST_OF = `
select id, data->>'kind' as kind, ${STATE}, coalesce(source_retry_count + 1, retry_count + (state = 'retry')::int) as attempts, coalesce(source_output, output) as output, coalesce(source_created_on, created_on) as "createdAt"
from pgboss.job
where (name = '${QUEUE}' and coalesce(singleton_key, '') = any($1) and state <= 'active' and policy = 'exclusive'
    or name = '${DEAD_LETTERS}' and coalesce(singleton_key, '') = any($1) and state <= 'active')
  and data->>'tenantId' = $2 and data->>'userId' = $3
order by "createdAt", id`;

const DEAD = `
select id, data as job, source_output as output, source_retry_count + 1 as attempts, source_created_on as "createdAt", created_on as "diedAt"
from pgboss.job
where name = '${DEAD_LETTERS}' and state <= 'active' and ($1::text is null or data->>'tenantId' = $1)
order by created_on desc, id limit $2`;

/** `output` is the failure as pg-boss stores it. */
type StoredAs<Listed extends { failure: unknown }> = Omit<Listed, "failure"> & { output: Partial<JobFailure> | null };

function toFailure(output: Partial<JobFailure> | null): JobFailure {
  return { code: output?.code ?? "internal_error", message: output?.message ?? "The process that ran the job ended." };
}

/** For dead letters that pg-boss made. */
const BEGIN_ANEW = `update pgboss.job set data = ${DATA_ANEW} where name = '${DEAD_LETTERS}' and data <> ${DATA_ANEW}`;

const REDRIVE_LIMIT = 1_000;

/** Reads pg-boss' documented table (https://pgboss.io/sql): its own statistics lag by up to a minute. */
export function makeJobOverview(database: Database): JobOverview {
  const boss = makeBoss({ database, onError: () => undefined });
  const keysOf = (conversation: OwnedConversation) => [...conversationJobKeys(conversation.conversationId), ownerJobKey(conversation)];
  return {
    count: (tenantId) => database.query<JobCount>({ name: "job-count", text: COUNT, values: [tenantId] }),

    async hasten(conversation) {
      const statement = { name: "job-hasten", text: HASTEN, values: [keysOf(conversation)] };
      return (await queryRow<{ count: number }>(database, statement)).count;
    },

    async listOf(conversation) {
      const values = [keysOf(conversation), conversation.tenantId, conversation.userId];
      const rows = await database.query<StoredAs<ListedJob>>({ name: "job-list-of", text: LIST_OF, values });
      return rows.map(({ output, ...job }) => ({ ...job, failure: job.state === "dead" || output ? toFailure(output) : null }));
    },

    async listDead(limit, tenantId) {
      const rows = await database.query<StoredAs<DeadLetter>>({ name: "job-dead", text: DEAD, values: [tenantId, limit] });
      return rows.map(({ output, ...letter }) => ({ ...letter, failure: toFailure(output) }));
    },

    async retryDead({ tenantId, ...about }) {
      const which = tenantId === null ? about : { tenantId, ...about };
      await database.query({ name: "job-begin-anew", text: BEGIN_ANEW });
      const filter = { data: JSON.parse(JSON.stringify(which)) as object }; // drops undefined fields
      let moved = 0;
      while ((await boss.previewRedrive(DEAD_LETTERS, filter)).total > 0) {
        moved += await boss.redrive(DEAD_LETTERS, { ...filter, limit: REDRIVE_LIMIT });
      }
      await boss.deleteStoredJobs(DEAD_LETTERS);
      return moved;
    },
  };
}

export interface OldestWaiting {
  kind: JobKind;
  /** The age, retries included, counted from the start of a delayed job. */
  seconds: number;
}

const OLDEST = `
select data->>'kind' as kind, greatest(0, extract(epoch from clock_timestamp() - min(case state when 'created' then greatest(created_on, start_after) else created_on end)))::float8 as seconds
from pgboss.job where name = '${QUEUE}' and state in ('created', 'retry') group by 1 order by 1`;

/** Over all tenants. */
export function findOldestWaiting(database: Queryable): Promise<OldestWaiting[]> {
  return database.query<OldestWaiting>({ name: "job-oldest", text: OLDEST });
}
