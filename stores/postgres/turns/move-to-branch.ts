import { followPathSql } from "../paths/summary-of-path.ts";

/** SQL: the first branch of a path. */
export const rootOf = (path: string, conversationId: string): string => `coalesce((
  select step.key from jsonb_each(${path}) step order by (step.value->>0)::timestamptz, (step.value->>1)::uuid limit 1), ${conversationId}::text)`;

/**
 * SQL: common table expressions that make a branch active, with its path and the fitting summary.
 * - `set`: further changes of the conversation.
 * - `when`: a condition on `was`, the row before.
 * - `count`: the number of messages on `target.path`.
 * The first two arguments are places of values. Select from `moved` to get the row.
 */
export const moveToBranchSql = (
  conversationId: string,
  branchId: string,
  { count, set, when = "true" }: { count: string; set: string; when?: string },
): string => `
target as materialized (
  select branch_path(${conversationId}, ${branchId}) as path
), was as materialized (
  select * from conversations where id = ${conversationId} for update
), left_alone as (
  update branches set message_count = was.path_message_count, updated_at = was.updated_at
  from was where was.path is not null and ${when} and branches.id = coalesce(was.active_branch_id, was.id)
), moved as (
  update conversations
  set active_branch_id = nullif(${branchId}::uuid, conversations.id), path = target.path, path_message_count = ${count}, rewrites = conversations.rewrites + 1,
    last_prompt = null, updated_at = clock_timestamp(),
    title = case when conversations.title_by = 'model' and ${rootOf("was.path", "was.id")} <> ${rootOf("target.path", "was.id")} then null else conversations.title end,
    title_by = case when ${rootOf("was.path", "was.id")} <> ${rootOf("target.path", "was.id")} then nullif(conversations.title_by, 'model') else conversations.title_by end${set}
  from was cross join target where conversations.id = was.id and target.path is not null and ${when}
  returning conversations.*
), ${followPathSql("moved")}`;
