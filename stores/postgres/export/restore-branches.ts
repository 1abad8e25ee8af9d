import { AppError } from "../../../errors/app-error.ts";
import { MAX_BRANCHES } from "../conversations/branch-path.ts";
import type { Queryable } from "../database/database.ts";

/** A branch whose path has no beginning or too many branches, and what belongs to no branch of its conversation. */
const FIND_WRONG = `
select 'branch' as what, id from branches cross join lateral (select branch_path(conversation_id, id) as path) own
where (select count(*) from jsonb_object_keys(path)) > ${MAX_BRANCHES}
  or not exists (select from branches step where path ? step.id::text and step.fork_message_id is null)
union all
select 'message', id from messages where branch_id is not null
  and not exists (select from branches where branches.id = branch_id and branches.conversation_id = messages.conversation_id)
union all
select 'conversation', id from conversations where active_branch_id is not null
  and not exists (select from branches where branches.id = active_branch_id and branches.conversation_id = conversations.id)
limit 1`;

const SET_PATHS = `
update conversations set path = branch_path(id, coalesce(active_branch_id, id)), remembered_path = branch_path(id, coalesce(active_branch_id, id))
where exists (select from branches where branches.conversation_id = conversations.id)`;

/** Makes the paths of restored conversations. Throws AppError `invalid_request` when branches go in a circle, or something belongs to none. */
export async function restorePaths(transaction: Queryable): Promise<void> {
  const [wrong] = await transaction.query<{ what: string; id: string }>({ text: FIND_WRONG });
  if (wrong) {
    const problem = `The ${wrong.what} ${wrong.id} has no way to the beginning of its conversation, or more than ${MAX_BRANCHES} branches on it.`;
    throw new AppError("invalid_request", `${problem} Nothing was restored.`);
  }
  await transaction.query({ text: SET_PATHS });
}
