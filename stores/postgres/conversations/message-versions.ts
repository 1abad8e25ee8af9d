import { onPathSql } from "./branch-path.ts";
import { MIN_UUID, OWNED_ID, placeOrStart } from "../database/sql-parts.ts";

/**
 * Behind the same message follow the next one of its branch, which a fork may share, and the first of each branch that leaves there. Of the
 * branches only those are looked at that leave within the page, $5 to $8, or at the last place before it. Whose the messages
 * are is asked in words that the planner has no figures of: it then walks in their order, and stops at the first.
 */
export const VERSIONS = `
with before as (
  select fork_created_at, fork_message_id from branches
  where conversation_id = $1 and (fork_created_at, fork_message_id) < ($5::timestamptz, $6::uuid)
  order by fork_created_at desc, fork_message_id desc limit 1
), near as materialized (
  select * from branches
  where conversation_id = ${OWNED_ID} and parent_id is not null and (fork_message_id is null
    or (fork_created_at, fork_message_id) <= ($7::timestamptz, $8::uuid)
      and (fork_created_at, fork_message_id) >= ${placeOrStart("(select fork_created_at from before)", "(select fork_message_id from before)")})
), leaving as (
  select distinct parent_id, fork_created_at, fork_message_id from near
), places as (
  select leaving.*, next.id, next.role, next.created_at from leaving cross join lateral (
    select id, role, created_at from messages
    where conversation_id = $1 and coalesce(branch_id, $1) = parent_id and (created_at, id) > ${placeOrStart("fork_created_at", "fork_message_id")}
    order by created_at, id limit 1
  ) next
  union all
  select leaving.*, next.id, next.role, next.created_at from leaving join forks on forks.conversation_id = $1 cross join lateral (
    select id, role, created_at from messages
    where conversation_id = any(source_ids) and coalesce(branch_id, conversation_id) = parent_id and ${onPathSql("messages", "base_path")}
      and (created_at, id) > ${placeOrStart("fork_created_at", "fork_message_id")}
    order by created_at, id limit 1
  ) next
  union all
  select parent_id, fork_created_at, fork_message_id, first.id, first.role, first.created_at from near cross join lateral (
    select id, role, created_at from messages
    where conversation_id = $1 and coalesce(branch_id, $1) = near.id and (created_at, id) >= (near.created_at, ${MIN_UUID}::uuid) order by created_at, id limit 1
  ) first
)
select place.id, json_agg(version.id order by version.created_at, version.id) as "messageIds"
from places place join places version
  on (place.parent_id, place.role) = (version.parent_id, version.role) and place.fork_message_id is not distinct from version.fork_message_id
where place.id in (select unnest($4::uuid[])) group by place.id having count(*) > 1`;
