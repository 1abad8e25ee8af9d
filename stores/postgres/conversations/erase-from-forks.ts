import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { FORGET_MODEL_TITLE } from "./title-store.ts";
import type { Queryable } from "../database/database.ts";

/**
 * Removes what forks made of messages that they no longer share, or that changed: summaries, counts and descriptions of agents. $2: the
 * first of these messages; $3: their branches, or null.
 */
const UNLEARN = `
with affected as materialized (
  select conversation_id as id from forks where source_ids @> array[$1::uuid] and message_created_at >= $2::timestamptz
    and ($3::text[] is null or exists (select from unnest($3::text[]) branch where (base_path->branch->>0)::timestamptz >= $2::timestamptz))
), unlearned as (
  delete from conversation_summaries where conversation_id in (select id from affected)
), versions as (
  delete from conversation_summary_versions where conversation_id in (select id from affected)
), recounted as (
  update branches set message_count = null where conversation_id in (select id from affected)
), undescribed as (
  update conversation_agents set state_description = null where conversation_id in (select id from affected)
)
update conversations set path_message_count = null, rewrites = rewrites + 1, last_prompt = null, ${FORGET_MODEL_TITLE}
where id in (select id from affected) returning id`;

/** Removes forks' answers to questions that they share. $2: the branches of these questions; null: all. */
const ERASE_ANSWERS = `
with removed as (
  delete from messages using turns, forks, messages asked
  where source_ids @> array[$1::uuid] and turns.conversation_id = forks.conversation_id and messages.id = turns.answer_id
    and asked.id = turns.question_id and asked.conversation_id = $1 and ($2::uuid[] is null or asked.branch_id = any($2))
  returning messages.id, messages.conversation_id
), counted as (
  update conversations set message_count = message_count - (select count(*) from removed where removed.conversation_id = conversations.id)
  where id in (select conversation_id from removed)
)
select id from removed`;

/** Takes an erased conversation out of all paths, and removes its own turns about questions that it shared as a fork. */
const LEAVE = `
with answered_again as (
  delete from turns using forks, messages asked
  where forks.conversation_id = $1 and asked.conversation_id = any(source_ids) and turns.question_id = asked.id and turns.conversation_id = $1
), shared as materialized (
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

interface FromForks {
  /** Conversations that shared some of it. */
  forks: string[];
  answerIds: string[];
}

/**
 * Makes forks forget erased or changed messages of a conversation, from a time on, on the given branches or on any. Returns the ids of the
 * forks.
 */
export async function unlearnInForks(
  transaction: Queryable,
  jobs: JobTransaction,
  owner: Owner,
  {
    conversationId,
    from = "-infinity",
    branchIds = null,
  }: { conversationId: string; from?: Date | "-infinity"; branchIds?: string[] | null },
): Promise<string[]> {
  const unlearn = { name: "forks-unlearn", text: UNLEARN, values: [conversationId, from, branchIds] };
  const forks = (await transaction.query<{ id: string }>(unlearn)).map(({ id }) => id);
  await jobs.add(forks.map((id) => ({ kind: "summarise", ...owner, conversationId: id })));
  return forks;
}

/**
 * Runs before the messages of a conversation, or of some branches, are erased. Forks keep their own messages, without answers to erased
 * ones.
 */
export async function eraseFromForks(
  transaction: Queryable,
  jobs: JobTransaction,
  owner: Owner,
  conversationId: string,
  branchIds: string[] | null = null,
): Promise<FromForks> {
  const erase = { name: "forks-answers", text: ERASE_ANSWERS, values: [conversationId, branchIds] };
  const answerIds = (await transaction.query<{ id: string }>(erase)).map(({ id }) => id);
  const forks = await unlearnInForks(transaction, jobs, owner, { conversationId, branchIds });
  if (branchIds === null) await transaction.query({ name: "forks-leave", text: LEAVE, values: [conversationId] });
  return { forks, answerIds };
}
