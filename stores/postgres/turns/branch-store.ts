import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { addJobsSql, jobsValue } from "../../jobs/add-jobs.ts";
import { type Job, layerJob } from "../../jobs/job.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import type { Database, Queryable } from "../database/database.ts";
import { OWNED_ID, ownedValues } from "../database/sql-parts.ts";
import { countOfPathSql, onPathSql, PATH_MESSAGES } from "../paths/branch-path.ts";
import { addBranch, findAsked, findTakenBack, type NewBranch, moveToBranchSql } from "./branch-turn.ts";
import { type PathEnds, type PathEndsRequest, readPathEnds } from "../paths/path-ends.ts";

export interface StoredBranch {
  id: string;
  /** Null: the first branch, whose id is the conversation's, or one that leaves among a fork's shared messages. */
  parentId: string | null;
  /** The last message that it shares with its parent, or null. */
  forkMessageId: string | null;
  origin: "edit" | "regenerate" | "restore" | null;
  label: string | null;
  messageCount: number;
  isActive: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** Paths are for `MessageStore.list`. */
export interface MessagePlace {
  /** Its branch; for a message that a fork shares, the fork's first one. */
  branchId: string;
  isActive: boolean;
  /** Null: there is only one. */
  path: string | null;
  /** The path that ends with it. */
  through: string;
}

/** Turns make branches: see `BeginTurn`. */
export interface BranchStore {
  /** Oldest first. A conversation that was never branched has one. */
  list(conversation: OwnedConversation): Promise<StoredBranch[]>;
  /** The path of a branch, for `MessageStore.list`; null: it is the only one. Throws AppError `not_found`. */
  findPath(conversation: OwnedConversation, branchId: string): Promise<string | null>;
  /** The branch shown last among those with the message. Throws AppError `not_found`. */
  findBranchOf(conversation: OwnedConversation, messageId: string): Promise<string>;
  /** The question of an answer. Throws AppError `not_found`, or `invalid_request` for a message that is no answer. */
  findAsked(answer: Owner & { sessionId: string; regenerate: string }): Promise<string>;
  /** Both ends of a session's active path; null without a conversation. */
  readEnds(request: PathEndsRequest): Promise<PathEnds | null>;
  /** Where a message of any branch, or one that a fork shares, lies; null when the conversation has none. */
  placeOf(conversation: OwnedConversation, messageId: string): Promise<MessagePlace | null>;
  /**
   * Makes a new branch, before a question (`editOf`) or after a message, the active one. Throws AppError `not_found`, `conversation_busy`,
   * `conversation_waiting`, or `invalid_request` when the path would have too many branches.
   */
  leave(conversation: OwnedConversation & { sessionId: string }, place: { editOf: string } | { behind: string }): Promise<void>;
  /** Makes a branch the active one. Throws AppError `not_found`, `conversation_busy` or `conversation_waiting`. */
  activate(conversation: OwnedConversation, branchId: string): Promise<void>;
}

const IS_ACTIVE = "branches.id = coalesce(active_branch_id, conversations.id)";

const LIST = `
select branches.id, (select parent.id from branches parent where parent.id = branches.parent_id and parent.conversation_id = conversations.id) as "parentId", fork_message_id as "forkMessageId", origin, label, ${IS_ACTIVE} as "isActive",
  case when ${IS_ACTIVE} then ${PATH_MESSAGES} else coalesce(branches.message_count, (
    select ${countOfPathSql("conversations.id", "its.path")} from (select branch_path(conversations.id, branches.id) as path offset 0) its)) end as "messageCount",
  branches.created_at as "createdAt", case when ${IS_ACTIVE} then conversations.updated_at else branches.updated_at end as "updatedAt"
from branches join conversations on conversations.id = branches.conversation_id
where conversations.id = ${OWNED_ID}
union all
select id, null, null, null, null, true, message_count, created_at, updated_at from conversations where id = ${OWNED_ID} and path is null
order by "createdAt", id`;

const PLACE = `
select home.branch as "branchId", ${onPathSql("messages", "conversations.path")} as "isActive", home.path::text as path,
  path_through(coalesce(home.path, jsonb_build_object(conversations.id, jsonb_build_array(messages.created_at, messages.id))), messages.created_at, messages.id, null)::text as through
from conversations left join forks on forks.conversation_id = conversations.id
join messages on messages.conversation_id = conversations.id or messages.conversation_id = any(source_ids) and ${onPathSql("messages", "base_path")}
cross join lateral (
  select branch, branch_path(conversations.id, branch) as path
  from (select case when messages.conversation_id = conversations.id then coalesce(messages.branch_id, conversations.id) else conversations.id end as branch) its
) home
where messages.id = $4 and conversations.id = $1 and tenant_id = $2 and user_id = $3`;

const LOCK = `
select coalesce(turn_lease_until >= clock_timestamp(), false) as "isBusy", coalesce(turn_lease_until = 'infinity', false) as "isWaiting"
from conversations where id = $1 and tenant_id = $2 and user_id = $3 for update`;

const FIND_PATH = `
select branch_path(id, $4)::text as path, id = $4 as "isFirst" from conversations where id = $1 and tenant_id = $2 and user_id = $3`;

const FIND_BRANCH_OF = `
select branches.id from branches
  join conversations on conversations.id = branches.conversation_id
  join messages on messages.id = $4
  cross join lateral (select branch_path(conversations.id, branches.id) as path offset 0) its
where conversations.id = ${OWNED_ID} and ${onPathSql("messages", "its.path")}
order by ${IS_ACTIVE} desc, branches.updated_at desc, branches.id desc limit 1`;

/** Reads no messages. $6: the jobs that follow the path. */
const ACTIVATE = `
with ${moveToBranchSql("$1", "$2", {
  count: "(select branches.message_count from branches where branches.id = $2)",
  set: "",
  when: "was.tenant_id = $3 and was.user_id = $4 and coalesce(was.active_branch_id, was.id) <> $2 and coalesce(was.turn_lease_until < clock_timestamp(), true)",
})}, ${addJobsSql("$5", "moved")}
select coalesce(was.turn_lease_until >= clock_timestamp(), false) as "isBusy", coalesce(was.turn_lease_until = 'infinity', false) as "isWaiting",
  target.path is not null or was.id = $2 as "isThere", coalesce(was.active_branch_id, was.id) = $2 as "isActive", (select count(*) from told)
from was cross join target where was.tenant_id = $3 and was.user_id = $4`;

interface ActivatedRow {
  isBusy: boolean;
  isWaiting: boolean;
  isThere: boolean;
  isActive: boolean;
}

export const branchNotFound = (branchId: string): AppError =>
  new AppError("not_found", `There is no branch ${branchId} in this conversation. GET …/branches lists them.`);

/** The jobs that follow a path. */
export const jobsOfMove = (conversation: OwnedConversation): Job[] =>
  (["summarise", "remember", "title"] as const).map((kind) => layerJob(kind, conversation));

const MOVE = `
with ${moveToBranchSql("$1", "$2", { count: countOfPathSql("$1", "target.path"), set: "" })}, ${addJobsSql("$3", "moved")}
select count(*) from told`;

/** Makes a new branch of a locked conversation the active one. Throws `tooMany`. */
export async function moveToNewBranch(
  transaction: Queryable,
  conversation: OwnedConversation,
  branch: NewBranch,
  tooMany: AppError,
): Promise<void> {
  await addBranch(transaction, conversation, branch, tooMany);
  const values = [conversation.conversationId, branch.id, jobsValue(jobsOfMove(conversation))];
  await transaction.query({ name: "branch-move", text: MOVE, values });
}

export function refuseBusy({ isBusy, isWaiting }: { isBusy: boolean; isWaiting: boolean }): void {
  if (isWaiting) throw new AppError("conversation_waiting", "The conversation waits for an answer. Answer or cancel its turn first.");
  if (isBusy) throw new AppError("conversation_busy", "The conversation is answering a message. Switch after its end.");
}

export function makeBranchStore(database: Database): BranchStore {
  return {
    list: (conversation) => database.query<StoredBranch>({ name: "branch-list", text: LIST, values: ownedValues(conversation) }),

    async findPath(conversation, branchId) {
      const values = [...ownedValues(conversation), branchId];
      const find = { name: "branch-path", text: FIND_PATH, values };
      const [found] = await database.query<{ path: string | null; isFirst: boolean }>(find);
      if (!found || (found.path === null && !found.isFirst)) throw branchNotFound(branchId);
      return found.path;
    },

    async findBranchOf(conversation, messageId) {
      const find = { name: "branch-of-message", text: FIND_BRANCH_OF, values: [...ownedValues(conversation), messageId] };
      const [found] = await database.query<{ id: string }>(find);
      if (!found) throw new AppError("not_found", `message_id: no other branch of this conversation has a message ${messageId}.`);
      return found.id;
    },

    findAsked: (answer) => findAsked(database, answer),

    readEnds: (request) => readPathEnds(database, request),

    async placeOf(conversation, messageId) {
      const values = [...ownedValues(conversation), messageId];
      return (await database.query<MessagePlace>({ name: "branch-place", text: PLACE, values }))[0] ?? null;
    },

    leave: (conversation, place) =>
      database.transaction(async (transaction) => {
        const lock = { name: "branch-lock", text: LOCK, values: ownedValues(conversation) };
        const [found] = await transaction.query<{ isBusy: boolean; isWaiting: boolean }>(lock);
        const { tooMany, ...from } = await findTakenBack(transaction, { ...conversation, ...place });
        if (found) refuseBusy(found);
        await moveToNewBranch(transaction, conversation, { ...from, id: uuidv7(), origin: "restore" }, tooMany);
      }),

    async activate(conversation, branchId) {
      const { conversationId, tenantId, userId } = conversation;
      const values = [conversationId, branchId, tenantId, userId, jobsValue(jobsOfMove(conversation))];
      const [row] = await database.query<ActivatedRow>({ name: "branch-activate", text: ACTIVATE, values });
      if (!row?.isThere) throw branchNotFound(branchId);
      if (!row.isActive) refuseBusy(row);
    },
  };
}
