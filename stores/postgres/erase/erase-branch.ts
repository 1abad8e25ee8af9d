import { AppError } from "../../../errors/app-error.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { ownerKey } from "../../index-keys.ts";
import { eraseDecisions } from "../agents/decision-store.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { branchNotFound } from "../turns/branch-store.ts";
import { lockConversation } from "../paths/locks.ts";
import { eraseDerivedMemory } from "./erase-derived-memory.ts";
import { addMarkersAndSweeps, type EntriesToSweep } from "../conversations/erase-markers.ts";
import type { Erased } from "./erase-exchange.ts";
import { eraseFromForks } from "../conversations/erase-from-forks.ts";

/** The branch and all that leave it; `union` also ends in a circle. */
const FIND = `
with recursive chosen as (
  select id from branches where id = $4 and conversation_id = (select id from conversations where id = $1 and tenant_id = $2 and user_id = $3)
  union
  select branches.id from chosen join branches on branches.parent_id = chosen.id and conversation_id = $1
)
select coalesce(array_agg(chosen.id) filter (where chosen.id is not null), '{}') as ids, coalesce(bool_or(chosen.id = coalesce(active_branch_id, conversations.id)), false) as "isActive",
  bool_and(conversations.id = $4) as "isFirst"
from conversations left join chosen on true where conversations.id = $1`;

const ERASE = `
with removed as (
  delete from messages where conversation_id = $1 and branch_id = any($2) returning id
), forgotten as (
  delete from turns where conversation_id = $1 and branch_id = any($2) returning id
), unlearned as (
  delete from conversation_summary_versions where conversation_id = $1 and branch_id = any($2)
), unnamed as (
  delete from snapshots where conversation_id = $1 and branch_id = any($2)
), pruned as (
  delete from branches where conversation_id = $1 and id = any($2)
), undescribed as (
  update conversation_agents set state_description = null where conversation_id = $1
), counted as (
  update conversations set message_count = message_count - (select count(*) from removed), rewrites = rewrites + 1 where id = $1
)
select array(select id from removed) as "messageIds", array(select id from forgotten) as "turnIds"`;

/** Without other branches the first needs no row, and a conversation that is no fork no path. */
const FORGET_FIRST = `
with last as (
  delete from branches where conversation_id = $1 and id = $1 and not exists (select from branches other where other.conversation_id = $1 and other.id <> $1)
    and not exists (select from forks where forks.conversation_id = $1)
  returning id
)
update conversations set path = null, remembered_path = case when path is distinct from remembered_path then remembered_path end, path_message_count = null
from last where conversations.id = last.id`;

/** Throws AppError `not_found`, or `branch_in_use` for the active branch and for one that others leave. */
export async function eraseBranch(
  transaction: Queryable,
  jobs: JobTransaction,
  { conversationId, ...owner }: OwnedConversation,
  branchId: string,
  { withChildren, keepDecisionsDays }: { withChildren: boolean; keepDecisionsDays: number },
): Promise<{ erased: Erased; forks: string[]; entries: EntriesToSweep; isIndexed: boolean }> {
  const conversation = { ...owner, conversationId };
  if (!(await lockConversation(transaction, conversation))) throw branchNotFound(branchId);
  const find = { name: "erase-branch-find", text: FIND, values: [...ownedValues(conversation), branchId] };
  const { ids, isActive, isFirst } = await queryRow<{ ids: string[]; isActive: boolean; isFirst: boolean }>(transaction, find);
  const inUse = (problem: string): AppError => new AppError("branch_in_use", `Branch ${branchId} ${problem}`);
  if (ids.length === 0 && !isFirst) throw branchNotFound(branchId);
  if (ids.length > 1 && !withChildren) throw inUse("has branches that leave it. Send children=true to erase them with it.");
  if (isActive || isFirst) throw inUse("is the active one, or the active one leaves it. Switch to another one first.");
  const { forks, answerIds } = await eraseFromForks(transaction, jobs, owner, conversationId, ids);
  const erase = { name: "erase-branch", text: ERASE, values: [conversationId, ids] };
  const { messageIds: own, turnIds } = await queryRow<{ messageIds: string[]; turnIds: string[] }>(transaction, erase);
  const messageIds = [...own, ...answerIds];
  await eraseDecisions(transaction, owner, keepDecisionsDays, { turnIds });
  await transaction.query({ name: "erase-branch-first", text: FORGET_FIRST, values: [conversationId] });
  const { erased, archivedIds } = await eraseDerivedMemory(transaction, owner, { conversationId, messageIds, jobs });
  const entries = { ownerKey: ownerKey(owner.tenantId, owner.userId), groupIds: [], episodeIds: [...messageIds, ...archivedIds] };
  const isIndexed = await addMarkersAndSweeps(transaction, jobs, entries);
  return { erased: { messages: messageIds.length, summaries: 0, ...erased, jobs: 0 }, forks, entries, isIndexed };
}
