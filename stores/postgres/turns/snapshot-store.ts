import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";
import { OWNED_ID, ownedValues } from "../database/sql-parts.ts";
import { MAX_BRANCHES, messagesOfPathSql } from "../paths/branch-path.ts";
import { moveToNewBranch, refuseBusy } from "./branch-store.ts";

export interface Snapshot {
  id: string;
  branchId: string;
  /** The last message of the path when it was made. */
  messageId: string;
  label: string;
  createdAt: Date;
}

export interface SnapshotStore {
  /** Names the end of the path. Throws AppError `invalid_request` when there is no message. */
  add(conversation: OwnedConversation, label: string): Promise<Snapshot>;
  /** Oldest first. */
  list(conversation: OwnedConversation): Promise<Snapshot[]>;
  remove(conversation: OwnedConversation, id: string): Promise<boolean>;
  /**
   * Makes a new branch from there active and returns its id. Throws AppError `not_found`, `conversation_busy`, `conversation_waiting`, or
   * `invalid_request` when the path would have too many branches.
   */
  restore(conversation: OwnedConversation, id: string): Promise<string>;
}

const COLUMNS = `id, branch_id as "branchId", message_id as "messageId", label, created_at as "createdAt"`;

const ADD = `
insert into snapshots (id, conversation_id, branch_id, message_id, message_created_at, label, created_at)
select $4::uuid, conversations.id, last.branch, last.id, last."createdAt", $5, clock_timestamp()
from conversations cross join lateral (${messagesOfPathSql({
  columns: 'id, messages.created_at as "createdAt", coalesce(branch_id, conversation_id) as branch',
  conversationId: "conversations.id",
  path: "conversations.path",
  order: "desc",
  limit: "1",
})}) last
where conversations.id = $1 and tenant_id = $2 and user_id = $3
returning ${COLUMNS}`;

const FIND = `
select coalesce(turn_lease_until >= clock_timestamp(), false) as "isBusy", coalesce(turn_lease_until = 'infinity', false) as "isWaiting",
  (select to_jsonb(snapshots) || jsonb_build_object('message_created_at', coalesce(
    (select messages.created_at from messages where messages.id = message_id), message_created_at)) from snapshots where snapshots.id = $4 and snapshots.conversation_id = conversations.id) as snapshot
from conversations where id = $1 and tenant_id = $2 and user_id = $3 for update`;

interface FoundRow {
  isBusy: boolean;
  isWaiting: boolean;
  snapshot: { branch_id: string; message_id: string; message_created_at: string; label: string } | null;
}

export function makeSnapshotStore(database: Database): SnapshotStore {
  return {
    async add(conversation, label) {
      const values = [...ownedValues(conversation), uuidv7(), label];
      const [added] = await database.query<Snapshot>({ name: "snapshot-add", text: ADD, values });
      if (!added)
        throw AppError.invalid([{ field: "id", problem: "names a conversation without a message; make a snapshot after the first one" }]);
      return added;
    },

    list: (conversation) =>
      database.query({
        name: "snapshot-list",
        text: `select ${COLUMNS} from snapshots where conversation_id = ${OWNED_ID} order by created_at, id`,
        values: ownedValues(conversation),
      }),

    async remove(conversation, id) {
      const text = `delete from snapshots where conversation_id = ${OWNED_ID} and id = $4 returning id`;
      const removed = await database.query({ name: "snapshot-remove", text, values: [...ownedValues(conversation), id] });
      return removed.length === 1;
    },

    restore: (conversation, id) =>
      database.transaction(async (transaction) => {
        const find = { name: "snapshot-find", text: FIND, values: [...ownedValues(conversation), id] };
        const [found] = await transaction.query<FoundRow>(find);
        if (!found?.snapshot) throw new AppError("not_found", `There is no snapshot ${id} in this conversation.`);
        refuseBusy(found);
        const { branch_id: branchId, message_id: behindId, message_created_at: behindAt, label } = found.snapshot;
        const branch = { id: uuidv7(), parentId: branchId, behindId, behindAt: new Date(behindAt), origin: "restore" as const, label };
        const problem = `The path would have more than ${MAX_BRANCHES} branches. Go on in a new conversation.`;
        await moveToNewBranch(transaction, conversation, branch, new AppError("invalid_request", problem));
        return branch.id;
      }),
  };
}
