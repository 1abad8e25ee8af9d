import { onPathSql } from "./branch-path.ts";
import { MIN_UUID } from "../database/sql-parts.ts";

/** SQL: the next version of a row of `conversation_summaries`. No number comes twice, even after a switch to a lower one. */
export const NEXT_VERSION = (row: string): string => `greatest(${row}.last_version, ${row}.summary_version) + 1`;

export const VERSION_COLUMNS = `conversation_id, summary_version, summary, covered_through_created_at, covered_through_message_id, covered_message_count,
  token_count, updated_at, parts, branch_id`;

/** SQL: whether a kept version covers nothing off the path. */
export const isOfPathSql = (versions: string, path: string): string => `exists (
  select from (values (${versions}.branch_id, ${versions}.conversation_id, ${versions}.covered_through_created_at, ${versions}.covered_through_message_id))
    as covered (branch_id, conversation_id, created_at, id) where ${onPathSql("covered", path)})`;

/**
 * SQL: common table expressions that give a conversation the newest kept summary that covers nothing off the path, else an empty one.
 * Nothing changes while `moved`, the conversation's row, is empty.
 */
export const followPathSql = (moved: string): string => `
best as (
  select versions.* from ${moved} join conversation_summary_versions versions on conversation_id = ${moved}.id
  where ${isOfPathSql("versions", `${moved}.path`)} order by summary_version desc limit 1
), summary as (
  update conversation_summaries as present
  set last_version = greatest(present.last_version, present.summary_version),
    summary_version = case when best.summary_version is not null then best.summary_version when present.summary = '' then present.summary_version
      else ${NEXT_VERSION("present")} end,
    summary = coalesce(best.summary, ''), covered_message_count = coalesce(best.covered_message_count, 0), token_count = coalesce(best.token_count, 0),
    covered_through_created_at = coalesce(best.covered_through_created_at, '0001-01-01'),
    covered_through_message_id = coalesce(best.covered_through_message_id, ${MIN_UUID}), parts = best.parts, branch_id = best.branch_id,
    updated_at = coalesce(best.updated_at, clock_timestamp())
  from ${moved} left join best on true where present.conversation_id = ${moved}.id
)`;
