import { jobKey, type Job } from "./job.ts";
import { QUEUE } from "../postgres/database/pg-boss.ts";

/** The channel of pg-boss' schema: `notifyChannelSql` in its plans.js. */
const TELL = "pg_notify('pgboss_' || left(encode(sha224('pgboss'::bytea), 'hex'), 24), '" + QUEUE + "')";

/**
 * SQL: common table expressions that add jobs as pg-boss does, for a statement that selects from `told`. `jobs` and `seconds` are places of
 * `jobsValue` and of the delay. Nothing is added when `source`, a from-item, is empty. https://pgboss.io/sql
 */
export const addJobsSql = (jobs: string, seconds: string, source: string): string => `
added as (
  insert into pgboss.job (name, data, singleton_key, created_on, start_after, keep_until, policy, dead_letter, retry_limit, retry_delay,
    retry_backoff, retry_delay_max, expire_seconds, deletion_seconds, heartbeat_seconds)
  select queue.name, given.data, given.key, pgboss.job_now(), due, due + queue.retention_seconds * interval '1 second', queue.policy,
    queue.dead_letter, queue.retry_limit, queue.retry_delay, queue.retry_backoff, queue.retry_delay_max, queue.expire_seconds,
    queue.deletion_seconds, queue.heartbeat_seconds
  from ${source} cross join jsonb_to_recordset(${jobs}::jsonb) as given (data jsonb, key text)
    join pgboss.queue on queue.name = '${QUEUE}'
    cross join lateral (select pgboss.job_now() + ${seconds} * interval '1 second') as start (due)
  on conflict do nothing
  returning start_after
), told as (
  select ${TELL} from added where start_after <= pgboss.job_now() limit 1
)`;

export function jobsValue(jobs: readonly Job[]): string {
  return JSON.stringify(jobs.map((job) => ({ data: job, key: jobKey(job) })));
}

export const ADD_JOBS = `with ${addJobsSql("$1", "$2", "(select) once")} select count(*) from told`;
