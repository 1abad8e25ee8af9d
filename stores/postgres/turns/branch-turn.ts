import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { layerJob } from "../../jobs/job.ts";
import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { countOfPathSql, MAX_BRANCHES, onPathSql, sourcesSql } from "../paths/branch-path.ts";
import { partnerIdSql } from "../conversations/exchanges.ts";
import { lockOwnerShared } from "../paths/locks.ts";
import { storePictures } from "../conversations/picture-store.ts";
import { type BeginTurn, type BegunTurn, takeOver } from "./recover-turn.ts";
import { questionMetadata } from "../../../turn/outcome.ts";
import { type TakenBack, wayOf } from "../../../turn/turn-input.ts";
import { followPathSql } from "../paths/summary-of-path.ts";

/** SQL: the first branch of a path. */
const rootOf = (path: string, conversationId: string): string => `coalesce((
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

/** The fields of TakenBack as errors name them. */
const WAYS = { editOf: "edit_of", regenerate: "regenerate", behind: "behind", again: "again" } as const;

function takenBack(turn: TakenBack): { field: (typeof WAYS)[keyof TakenBack]; id: string } {
  const way = wayOf(turn);
  if (way === undefined) throw new Error("nothing is taken back");
  return { field: WAYS[way], id: turn[way] ?? "" };
}

const LOCK_SESSION = `
select id, coalesce(turn_lease_until >= clock_timestamp(), false) as "isBusy" from conversations
where tenant_id = $1 and user_id = $2 and session_id = $3 for update`;

/** The message, the question before an answer, and the last message before a question, on the message's path. */
const FIND = `
with said as materialized (
  select messages.*, conversations.id as home_id, base_path, case when path is null then null when messages.conversation_id = conversations.id
    then branch_path(conversations.id, coalesce(branch_id, conversations.id)) else base_path end as path
  from conversations left join forks on forks.conversation_id = conversations.id
    join messages on messages.conversation_id = conversations.id or messages.conversation_id = any(source_ids) and ${onPathSql("messages", "base_path")}
  where messages.id = $1 and tenant_id = $2 and user_id = $3 and session_id = $4
), asked as (
  select messages.* from said join messages on messages.id = coalesce(${partnerIdSql("said")}, (
    select earlier.id from messages earlier
    where earlier.conversation_id in (select id from ${sourcesSql("said.home_id", "said.path")} source) and earlier.role = 'user' and (earlier.created_at, earlier.id) < (said.created_at, said.id)
      and ${onPathSql("earlier", "said.path")}
    order by earlier.created_at desc, earlier.id desc limit 1))
  where said.role = 'assistant' and messages.role = 'user'
), before as (
  select earlier.* from said cross join lateral (
    select * from messages earlier
    where earlier.conversation_id in (select id from ${sourcesSql("said.home_id", "said.path")} source) and (earlier.created_at, earlier.id) < (said.created_at, said.id)
      and ${onPathSql("earlier", "said.path")}
    order by earlier.created_at desc, earlier.id desc limit 1
  ) earlier
  where said.role = 'user'
)
select said.role, case when $5 = 'again' then said.id else asked.id end as "userMessageId", case when $5 = 'again' then said.content else asked.content end as question,
  place.id as "behindId", place.created_at as "behindAt", coalesce(place.branch, ${rootOf("said.base_path", "said.home_id")}::uuid) as "parentId"
from said left join asked on true left join (
  select id, created_at, coalesce(branch_id, conversation_id) as branch from asked where $5 = 'regenerate'
  union all select id, created_at, coalesce(branch_id, conversation_id) from before where $5 = 'edit_of'
  union all select id, created_at, coalesce(branch_id, conversation_id) from said where $5 in ('behind', 'again')
) place on true`;

interface FoundMessage {
  role: "user" | "assistant";
  userMessageId: string | null;
  question: string | null;
  behindId: string | null;
  behindAt: Date | null;
  /** The branch of that message, else the first of the conversation. */
  parentId: string;
}

/** Throws AppError `not_found` or `invalid_request`. */
export async function findTakenBack(where: Queryable, { tenantId, userId, sessionId, ...turn }: Owner & TakenBack & { sessionId: string }) {
  const { field, id } = takenBack(turn);
  const values = [id, tenantId, userId, sessionId, field];
  const [found] = await where.query<FoundMessage>({ name: "branch-find", text: FIND, values });
  const refuse = (code: "not_found" | "invalid_request", problem: string): AppError =>
    new AppError(code, `${field}: ${problem}`, { details: [{ field, problem }] });
  if (!found) throw refuse("not_found", `there is no message ${id} in the conversation of session_id "${sessionId}"`);
  if (field === "edit_of" && found.role !== "user")
    throw refuse("invalid_request", `${id} is an answer; edit_of takes a message of the user`);
  if (field === "regenerate" && found.role !== "assistant")
    throw refuse("invalid_request", `${id} is a message of the user; regenerate takes an answer`);
  if (field === "regenerate" && found.userMessageId === null) throw refuse("invalid_request", `${id} answers no message of the user`);
  return {
    ...found,
    isAgain: field === "regenerate" || field === "again",
    tooMany: refuse("invalid_request", `its path would have more than ${MAX_BRANCHES} branches; go on in a new conversation`),
  };
}

/** The question of an answer. Throws AppError `not_found`, or `invalid_request` for a message that answers nothing. */
export async function findAsked(where: Queryable, answer: Owner & { sessionId: string; regenerate: string }): Promise<string> {
  return (await findTakenBack(where, answer)).question ?? "";
}

const ADD_BRANCH = `
with first as (
  insert into branches (id, conversation_id, message_count, created_at, updated_at)
  select id, id, message_count, created_at, updated_at from conversations where id = $1 and tenant_id = $8 and user_id = $9 and path is null
)
insert into branches (id, conversation_id, parent_id, fork_created_at, fork_message_id, origin, label, created_at, updated_at)
select $2::uuid, id, $3::uuid, $4, $5, $6, $7, clock_timestamp(), clock_timestamp() from conversations
where id = $1 and tenant_id = $8 and user_id = $9`;

/** Where a branch leaves its parent: behind `behindId`, or before everything. */
export interface NewBranch {
  id: string;
  parentId: string;
  behindId: string | null;
  behindAt: Date | null;
  origin: "edit" | "regenerate" | "restore";
  label?: string | null;
}

/** Adds a branch to a locked conversation; the caller makes it active. Throws AppError when its path has too many. */
export async function addBranch(
  transaction: Queryable,
  { tenantId, userId, conversationId }: OwnedConversation,
  { id, parentId, behindId, behindAt, origin, label = null }: NewBranch,
  tooMany: AppError,
): Promise<void> {
  await transaction.query({
    name: "branch-add",
    text: ADD_BRANCH,
    values: [conversationId, id, parentId, behindAt, behindId, origin, label, tenantId, userId],
  });
  const count = "select count(*)::int as count from jsonb_object_keys(branch_path($1, $2))";
  const row = await queryRow<{ count: number }>(transaction, { name: "branch-depth", text: count, values: [conversationId, id] });
  if (row.count > MAX_BRANCHES) throw tooMany;
}

/** $7 is the id of a new question, or null when a stored one is answered again. */
const STORE = `
with ${moveToBranchSql("$1", "$2", {
  count: `${countOfPathSql("$1", "target.path")} + case when $7::uuid is null then 0 else 1 end`,
  set: `,
    turn_id = $3::uuid, turn_runner = null, turn_lease_until = clock_timestamp() + $6 * interval '1 millisecond',
    message_count = conversations.message_count + case when $7::uuid is null then 0 else 1 end,
    last_message_at = case when $7::uuid is null then conversations.last_message_at else greatest(clock_timestamp(), conversations.last_message_at + interval '1 millisecond') end`,
})}, asked as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at, branch_id)
  select $7::uuid, id, 'user', $8, not $10::jsonb ? 'remember', $9, $10::jsonb || jsonb_build_object('turn_id', $3::uuid), last_message_at, $2::uuid
  from moved where $7::uuid is not null
  returning id
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, key_hash, body_hash, started_at, branch_id)
select $3::uuid, $4, $5, moved.id, coalesce((select id from asked), $11::uuid), $12, $13, clock_timestamp(), $2::uuid from moved`;

/** The turn takes over an imported question at the end of the path. */
const CLAIM = `
update messages set import_number = null, is_unread = null
from (
  select messages.id from messages join conversations on conversations.id = messages.conversation_id
  where conversations.id = $1 and ${onPathSql("messages", "conversations.path")}
  order by messages.created_at desc, messages.id desc limit 1
) last
where messages.id = last.id and messages.id = $2 and role = 'user' and import_number is not null
  and branch_id is not distinct from (select active_branch_id from conversations where id = $1)
returning messages.id`;

/**
 * Begins a turn on its own branch (see `BeginTurn`), or answers an imported question without an answer. Null while another turn holds the
 * conversation.
 */
export async function beginOnBranch(transaction: Queryable, jobs: JobTransaction, turn: BeginTurn): Promise<BegunTurn | null> {
  const { tenantId, userId, sessionId, turnId, leaseMs, message, tokenCount, key, pictures = [] } = turn;
  await lockOwnerShared(transaction, turn);
  const lock = { name: "continue-lock", text: LOCK_SESSION, values: [tenantId, userId, sessionId] };
  const [conversation] = await transaction.query<{ id: string; isBusy: boolean }>(lock);
  const { tooMany, isAgain, userMessageId, question, ...place } = await findTakenBack(transaction, turn);
  if (!conversation || conversation.isBusy) return null;
  const { id: conversationId } = conversation;
  const open = { name: "branch-claim", text: CLAIM, values: [conversationId, turn.again ?? null] };
  if (turn.again && userMessageId !== null && (await transaction.query(open)).length > 0) {
    const begun = { conversationId, messageId: userMessageId, question: message };
    await takeOver(transaction, turn, begun);
    return begun;
  }
  const branch = { ...place, id: uuidv7(), origin: isAgain ? ("regenerate" as const) : ("edit" as const) };
  await addBranch(transaction, { tenantId, userId, conversationId }, branch, tooMany);
  const newId = isAgain ? null : uuidv7();
  const keys = [key?.keyHash ?? null, key?.bodyHash ?? null];
  const stored = [newId, message, tokenCount, questionMetadata(turn), isAgain ? userMessageId : null, ...keys];
  await transaction.query({
    name: "branch-begin",
    text: STORE,
    values: [conversationId, branch.id, turnId, tenantId, userId, leaseMs, ...stored],
  });
  if (newId !== null && pictures.length > 0) await storePictures(transaction, turn, { conversationId, messageId: newId }, pictures);
  await jobs.add((["summarise", "remember"] as const).map((kind) => layerJob(kind, { tenantId, userId, conversationId })));
  return { conversationId, messageId: newId ?? userMessageId ?? "", ...(isAgain && question !== null ? { question } : {}) };
}
