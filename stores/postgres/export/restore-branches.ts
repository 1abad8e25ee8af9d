import { AppError } from "../../../errors/app-error.ts";
import { MAX_BRANCHES } from "../paths/branch-path.ts";
import type { Queryable } from "../database/database.ts";

/** Branches whose path has no beginning or too many branches, and what belongs to no branch of its conversation. */
const FIND_WRONG = `
select 'branch' as what, id from branches cross join lateral (select branch_path(conversation_id, id) as path) own
where (select count(*) from jsonb_object_keys(path)) > ${MAX_BRANCHES}
  or not exists (select from branches step where path ? step.id::text and step.fork_message_id is null)
    and not exists (select from forks where forks.conversation_id = branches.conversation_id)
union all
select 'message', id from messages where branch_id is not null
  and not exists (select from branches where branches.id = branch_id and branches.conversation_id = messages.conversation_id)
union all
select 'conversation', id from conversations where active_branch_id is not null
  and not exists (select from branches where branches.id = active_branch_id and branches.conversation_id = conversations.id)
limit 1`;

/** A fork that shares messages of another user, or of nobody. */
const FIND_FOREIGN = `
select 'fork' as what, fork.id from forks join conversations fork on fork.id = forks.conversation_id cross join lateral jsonb_each(base_path) step
left join conversations source on source.id::text = step.value->>2 and (source.tenant_id, source.user_id) = (fork.tenant_id, fork.user_id)
where source.id is null
union all
select 'turn', turns.id from turns join messages asked on asked.id = question_id join conversations source on source.id = asked.conversation_id
where (source.tenant_id, source.user_id) <> (turns.tenant_id, turns.user_id)
limit 1`;

const SET_SOURCES = `
update forks set source_ids = array(select distinct (step.value->>2)::uuid from jsonb_each(base_path) step)`;

const SET_PATHS = `
update conversations set path = branch_path(id, coalesce(active_branch_id, id)), remembered_path = branch_path(id, coalesce(active_branch_id, id))
where exists (select from branches where branches.conversation_id = conversations.id)`;

/**
 * Makes the paths of restored conversations. Throws AppError `invalid_request` when branches go in a circle, something belongs to none, or
 * rests on another user's.
 */
export async function restorePaths(transaction: Queryable): Promise<void> {
  const [foreign] = await transaction.query<{ what: string; id: string }>({ text: FIND_FOREIGN });
  if (foreign)
    throw new AppError(
      "invalid_request",
      `The ${foreign.what} ${foreign.id} rests on messages that are not its user's. Nothing was restored.`,
    );
  await transaction.query({ text: SET_SOURCES });
  const [wrong] = await transaction.query<{ what: string; id: string }>({ text: FIND_WRONG });
  if (wrong) {
    const problem = `The ${wrong.what} ${wrong.id} has no way to the beginning of its conversation, or more than ${MAX_BRANCHES} branches on it.`;
    throw new AppError("invalid_request", `${problem} Nothing was restored.`);
  }
  await transaction.query({ text: SET_PATHS });
}
