import { jobKey, type Job } from "./job.ts";
import { QUEUE } from "../postgres/database/pg-boss.ts";

/** The channel of pg-boss' schema: `notifyChannelSql` in its plans.js. */
export const TELL = "pg_notify('pgboss_' || left(encode(sha224('pgboss'::bytea), 'hex'), 24), '" + QUEUE + "')";

/**
 * SQL: common table expressions that add jobs as pg-boss does, for a statement that selects from `told`. `jobs` is the place of
 * `jobsValue`. Nothing is added when `source`, a from-item, is empty. https://pgboss.io/sql
 */
export const addJobsSql = (jobs: string, source: string): string => `
added as (
  insert into pgboss.job (name, data, singleton_key, created_on, start_after, keep_until, policy, dead_letter, retry_limit, retry_delay,
    retry_backoff, retry_delay_max, expire_seconds, deletion_seconds, heartbeat_seconds)
  select queue.name, given.data, given.key, pgboss.job_now(), due, due + queue.retention_seconds * interval '1 second', queue.policy,
    queue.dead_letter, queue.retry_limit, queue.retry_delay, queue.retry_backoff, queue.retry_delay_max, queue.expire_seconds,
    queue.deletion_seconds, queue.heartbeat_seconds
  from ${source} cross join jsonb_to_recordset(${jobs}::jsonb) as given (data jsonb, key text, seconds float8)
    join pgboss.queue on queue.name = '${QUEUE}'
    cross join lateral (select pgboss.job_now() + given.seconds * interval '1 second') as start (due)
  on conflict do nothing
  returning start_after
), told as (
  select ${TELL} from added where start_after <= pgboss.job_now() limit 1
)`;

/** `startAfter`: the seconds that each job waits. */
export function jobsValue(jobs: readonly Job[], startAfter: (job: Job) => number = () => 0): string {
  return JSON.stringify(jobs.map((job) => ({ data: job, key: jobKey(job), seconds: startAfter(job) })));
}

export const ADD_JOBS = `with ${addJobsSql("$1", "(select) once")} select count(*) from told`;
