import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../owner.ts";
import { FORGET_MODEL_TITLE } from "../conversations/title-store.ts";
import type { Queryable } from "../database/database.ts";

/** What forks made of messages that they no longer share, or that have changed: summaries and counts. $2: the first of these messages. */
const UNLEARN = `
with affected as materialized (
  select conversation_id as id from forks where source_ids @> array[$1::uuid] and message_created_at >= $2::timestamptz
), unlearned as (
  delete from conversation_summaries where conversation_id in (select id from affected)
), versions as (
  delete from conversation_summary_versions where conversation_id in (select id from affected)
), recounted as (
  update branches set message_count = null where conversation_id in (select id from affected)
)
update conversations set path_message_count = null, rewrites = rewrites + 1, last_prompt = null, ${FORGET_MODEL_TITLE}
where id in (select id from affected) returning id`;

/** A conversation is gone: no path leads through it any more. */
const LEAVE = `
with shared as materialized (
  select conversation_id as id from forks where source_ids @> array[$1::uuid]
), left_behind as (
  update forks set origin_id = nullif(origin_id, $1), source_ids = array_remove(source_ids, $1), base_path = (
    select coalesce(jsonb_object_agg(step.key, step.value), '{}') from jsonb_each(base_path) step where step.value->>2 is distinct from $1::text)
  where conversation_id in (select id from shared)
)
update conversations set
  path = (select jsonb_object_agg(step.key, step.value) from jsonb_each(path) step where step.value->>2 is distinct from $1::text),
  remembered_path = (select jsonb_object_agg(step.key, step.value) from jsonb_each(remembered_path) step where step.value->>2 is distinct from $1::text)
where id in (select id from shared)`;

/** Takes what was erased of a conversation, from a place in time on, out of what its forks have made of it. */
export async function unlearnInForks(
  transaction: Queryable,
  jobs: JobTransaction,
  owner: Owner,
  conversationId: string,
  from: Date | "-infinity" = "-infinity",
): Promise<void> {
  const unlearn = { name: "forks-unlearn", text: UNLEARN, values: [conversationId, from] };
  const forks = await transaction.query<{ id: string }>(unlearn);
  await jobs.add(forks.map(({ id }) => ({ kind: "summarise", ...owner, conversationId: id })));
}

/** The same of a whole conversation; forks keep their own messages. */
export async function eraseFromForks(transaction: Queryable, jobs: JobTransaction, owner: Owner, conversationId: string): Promise<void> {
  await unlearnInForks(transaction, jobs, owner, conversationId);
  await transaction.query({ name: "forks-leave", text: LEAVE, values: [conversationId] });
}
