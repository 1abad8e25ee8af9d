import { makeJobQueue, type JobQueue, type JobTransaction } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import { episodeGroupId } from "../search/episode-group-id.ts";
import { ownerKey } from "../search/owner-key.ts";
import type { Database, Queryable } from "./database.ts";
import { leaveToIndex, type LeftInIndex } from "./erase-marks.ts";
import { erasePair, type Erased } from "./erase-pair.ts";
import { lockOwner } from "./lock-owner.ts";
import type { OwnedConversation } from "./summary-store.ts";
import { unlearn } from "./unlearn.ts";

/** What went from Postgres, and what of it is to go from the index. */
export interface ErasedRows {
  erased: Erased;
  left: LeftInIndex;
  /** There is an index at all, of whichever process. */
  isIndexed: boolean;
}

/**
 * Takes out of Postgres, in one transaction each, everything there is of a user, a conversation or one exchange. The same transaction
 * leaves markers, and jobs that clear the index: soon, and once more when a job that was writing to it is surely over.
 */
export interface EraseStore {
  /** Null when there is no such conversation. */
  conversation(conversation: OwnedConversation): Promise<ErasedRows | null>;
  /** Also of a user of whom nothing is there. */
  user(owner: Owner): Promise<ErasedRows>;
  /**
   * One exchange, by the id of its user's message, or one archived memory; null when there is none. A summary that covered it is made anew.
   * Throws AppError `conversation_busy` while a turn holds the conversation.
   */
  episode(owner: Owner, episodeId: string): Promise<ErasedRows | null>;
}

/** One snapshot for the whole statement: a message written meanwhile goes with the conversation's row, by the foreign key. */
const ERASE_CONVERSATIONS = `
with erased as (
  delete from conversations where id = any($1) and tenant_id = $2 and user_id = $3 returning id
), messages as (
  delete from messages where conversation_id in (select id from erased) returning 1
), summaries as (
  delete from conversation_summaries where conversation_id in (select id from erased) returning 1
)
select (select count(*) from erased)::int as conversations, (select count(*) from messages)::int as messages,
  (select count(*) from summaries)::int as summaries`;

const ERASE_MEMORY = `
with sections as (
  delete from core_memory_sections where tenant_id = $1 and user_id = $2 returning 1
), versions as (
  delete from core_memory_versions where tenant_id = $1 and user_id = $2
), operations as (
  delete from memory_operations where tenant_id = $1 and user_id = $2 returning 1
)
select (select count(*) from sections)::int as sections, (select count(*) from operations)::int as operations`;

const ERASE_ARCHIVED = `
delete from archived_memories using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and (archived_memories.id = $3 or trigger_message_id = $3)
returning archived_memories.id, conversation_id as "conversationId", content`;

const ERASE_ARCHIVING = `
delete from memory_operations
using unnest($3::uuid[], $4::text[]) as gone (conversation_id, content)
where tenant_id = $1 and user_id = $2 and operation = 'archival_insert'
  and memory_operations.conversation_id = gone.conversation_id and new_value = gone.content
returning id`;

const NOTHING: Erased = { messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 };

/** Erases from a database; `queue` takes the jobs that clear the index. */
export function makeEraseStore(database: Database, queue: JobQueue = makeJobQueue(database)): EraseStore {
  /** The owner's lock before the rows of conversations, and those before jobs: the order in which everyone takes them. */
  const inTransaction = <Result>(owner: Owner, work: (transaction: Queryable, jobs: JobTransaction) => Promise<Result>): Promise<Result> =>
    queue.transaction(async (transaction, jobs) => {
      await lockOwner(transaction, owner);
      return work(transaction, jobs);
    });

  return {
    conversation: (conversation) =>
      inTransaction(conversation, async (transaction, jobs) => {
        const { conversationId, tenantId, userId } = conversation;
        const [row] = await transaction.query<{ conversations: number; messages: number; summaries: number }>({
          name: "erase-conversations",
          text: ERASE_CONVERSATIONS,
          values: [[conversationId], tenantId, userId],
        });
        if (!row || row.conversations === 0) return null;
        const { sections, operations } = await unlearn(transaction, conversation, { conversationId });
        const left = { ownerKey: ownerKey(tenantId, userId), groupIds: [episodeGroupId(conversationId)], episodeIds: [] };
        const erasedJobs = await jobs.erase(conversation);
        const isIndexed = await leaveToIndex(transaction, jobs, left);
        const { messages, summaries } = row;
        const erased = { messages, summaries, coreMemorySections: sections, memoryOperations: operations, jobs: erasedJobs };
        return { erased, left, isIndexed };
      }),

    user: (owner) =>
      inTransaction(owner, async (transaction, jobs) => {
        const { tenantId, userId } = owner;
        const conversations = await transaction.query<{ id: string }>({
          name: "erase-list",
          text: "select id from conversations where tenant_id = $1 and user_id = $2 for update",
          values: [tenantId, userId],
        });
        const ids = conversations.map(({ id }) => id);
        const [rows] = await transaction.query<{ messages: number; summaries: number }>({
          name: "erase-conversations",
          text: ERASE_CONVERSATIONS,
          values: [ids, tenantId, userId],
        });
        const [memory] = await transaction.query<{ sections: number; operations: number }>({
          name: "erase-memory",
          text: ERASE_MEMORY,
          values: [tenantId, userId],
        });
        const left = { ownerKey: ownerKey(tenantId, userId), groupIds: ids.map(episodeGroupId), episodeIds: [] };
        const erased = {
          messages: rows?.messages ?? 0,
          summaries: rows?.summaries ?? 0,
          coreMemorySections: memory?.sections ?? 0,
          memoryOperations: memory?.operations ?? 0,
          jobs: await jobs.eraseOwner(owner),
        };
        const isIndexed = await leaveToIndex(transaction, jobs, left, { isWhole: true });
        return { erased, left, isIndexed };
      }),

    episode: (owner, episodeId) =>
      inTransaction(owner, async (transaction, jobs) => {
        const { tenantId, userId } = owner;
        const pair = await erasePair(transaction, jobs, owner, episodeId);
        const archived = await transaction.query<{ id: string; conversationId: string; content: string }>({
          name: "erase-archived",
          text: ERASE_ARCHIVED,
          values: [tenantId, userId, episodeId],
        });
        if (!pair && archived.length === 0) return null;
        const archiving = await transaction.query({
          name: "erase-archiving",
          text: ERASE_ARCHIVING,
          values: [tenantId, userId, archived.map(({ conversationId }) => conversationId), archived.map(({ content }) => content)],
        });
        const ofPair = pair?.erased ?? NOTHING;
        const erased = { ...ofPair, memoryOperations: ofPair.memoryOperations + archiving.length };
        const episodeIds = [...new Set([episodeId, ...(pair?.episodeIds ?? []), ...archived.map(({ id }) => id)])];
        const left = { ownerKey: ownerKey(tenantId, userId), groupIds: [], episodeIds };
        const isIndexed = await leaveToIndex(transaction, jobs, left);
        return { erased, left, isIndexed };
      }),
  };
}
