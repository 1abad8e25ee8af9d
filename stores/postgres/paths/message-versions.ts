import { onPathSql, pathOf } from "./branch-path.ts";
import { MIN_UUID, OWNED_ID, placeOrStart } from "../database/sql-parts.ts";

const FOLLOWING = `id, role, created_at, ${onPathSql("messages", `coalesce($9::jsonb, ${pathOf("$1")})`)} as is_shown`;

/**
 * After a message comes the next one of its branch (a fork may share it), or the first one of a branch that starts here. It looks only at
 * branches that leave within the page, $5 to $8, or at the last place before it. The planner has no figures for the condition on owners: so
 * it walks in order and stops at the first message. A message without an answer on the path ($9 or the active one) gets the ids of answers
 * on other branches.
 */
export const VERSIONS = `
with before as (
  select fork_created_at, fork_message_id from branches
  where conversation_id = $1 and (fork_created_at, fork_message_id) < (select $5::timestamptz, $6::uuid)
  order by fork_created_at desc, fork_message_id desc limit 1
), near as materialized (
  select * from branches
  where conversation_id = ${OWNED_ID} and parent_id is not null and (fork_message_id is null
    or (fork_created_at, fork_message_id) <= (select $7::timestamptz, $8::uuid)
      and (fork_created_at, fork_message_id) >= ${placeOrStart("(select fork_created_at from before)", "(select fork_message_id from before)")})
), leaving as (
  select distinct parent_id, fork_created_at, fork_message_id from near
), places as (
  select leaving.*, next.* from leaving cross join lateral (
    select ${FOLLOWING} from messages
    where conversation_id = $1 and coalesce(branch_id, $1) = parent_id and (created_at, id) > ${placeOrStart("fork_created_at", "fork_message_id")}
    order by created_at, id limit 1
  ) next
  union all
  select leaving.*, next.* from leaving join forks on forks.conversation_id = $1 cross join lateral (
    select ${FOLLOWING} from messages
    where conversation_id = any(source_ids) and ${onPathSql("messages", "base_path")}
      and (created_at, id) > ${placeOrStart("fork_created_at", "fork_message_id")}
    order by created_at, id limit 1
  ) next
  union all
  select parent_id, fork_created_at, fork_message_id, first.* from near cross join lateral (
    select ${FOLLOWING} from messages
    where conversation_id = $1 and coalesce(branch_id, $1) = near.id and (created_at, id) >= (least(near.created_at, messages_from), ${MIN_UUID}::uuid) order by created_at, id limit 1
  ) first
)
select of_message as id, json_agg(id order by created_at, id) as "messageIds", false as "isUnanswered" from (
  select distinct place.id as of_message, version.id, version.created_at from places place join places version
    on (place.parent_id, place.role) = (version.parent_id, version.role) and place.fork_message_id is not distinct from version.fork_message_id
  where place.id = any($4::uuid[])
) versions group by of_message having count(*) > 1
union all
select fork_message_id, json_agg(id order by created_at, id), true from (
  select distinct fork_message_id, id, created_at, is_shown from places where role = 'assistant' and fork_message_id = any($4::uuid[])
) answers group by fork_message_id having not bool_or(is_shown)`;

export interface VersionsRow {
  id: string;
  messageIds: string[];
  isUnanswered: boolean;
}
