import { v7 as uuidv7 } from "uuid";
import { type JobQueue, type JobTransaction, makeJobQueue } from "../../jobs/job-queue.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { episodeGroupId, ownerKey } from "../../index-keys.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { isLargeErase, softDeleteConversations } from "./deferred-erase.ts";
import {
  addMarkers,
  addMarkersAndSweeps,
  type EntriesToSweep,
  ERASE_BATCH_ROWS,
  type Erasure,
  recordErasure,
} from "../conversations/erase-markers.ts";
import { eraseDecisions } from "../agents/decision-store.ts";
import { eraseBranch } from "./erase-branch.ts";
import { eraseConversations, isUnused } from "./erase-conversations.ts";
import { type Erased, eraseExchange } from "./erase-exchange.ts";
import { eraseFromForks } from "../conversations/erase-from-forks.ts";
import { type ErasureStore, makeErasureStore } from "./erasure-store.ts";
import { lockConversation, lockOwner } from "../paths/locks.ts";
import { forgetWhoUsed } from "../usage/usage-store.ts";
import { type ErasedMemory, eraseDerivedMemory } from "./erase-derived-memory.ts";

export interface ErasedRows {
  erased: Erased;
  /** Conversations that shared some of it. */
  forks: string[];
  /** Null after a large erase. */
  entries: EntriesToSweep | null;
  isIndexed: boolean;
}

/**
 * Erases a user, a conversation or one exchange from Postgres. A small erase is one transaction with markers and sweep jobs. A large one
 * soft-deletes its rows, and a job purges them.
 */
export interface EraseStore extends Pick<ErasureStore, "report" | "find"> {
  /** Null when there is none; with `unusedDays` also when it is pinned or was used since. */
  conversation(conversation: OwnedConversation, unusedDays?: number): Promise<ErasedRows | null>;
  user(owner: Owner): Promise<ErasedRows>;
  /**
   * Erases an exchange by its first message's id, or an archived memory; null when there is none. Throws AppError `conversation_busy` while
   * a turn holds the conversation.
   */
  episode(owner: Owner, episodeId: string): Promise<ErasedRows | null>;
  /** Throws AppError `not_found`, or `branch_in_use` for the active branch and, without `withChildren`, for one that others leave. */
  branch(conversation: OwnedConversation, branchId: string, options: { withChildren: boolean }): Promise<ErasedRows>;
}

const ERASE_MEMORY = `
with versions as (
  delete from core_memory_versions where ctid = any(array(select ctid from core_memory_versions where tenant_id = $1 and user_id = $2 limit $3)) returning 1
), operations as (
  delete from memory_operations where ctid = any(array(select ctid from memory_operations where tenant_id = $1 and user_id = $2 limit $3)) returning 1
)
select (select count(*) from operations)::int as "memoryOperations",
  greatest((select count(*) from versions), (select count(*) from operations)) < $3 as "isAll"`;

const ERASE_GRANTS = "delete from mcp_grants where tenant_id = $1 and user_id = $2";
const ERASE_SECTIONS = `
with allowed as (delete from permissions where tenant_id = $1 and user_id = $2)
delete from core_memory_sections where tenant_id = $1 and user_id = $2 returning 1`;

const ERASE_ARCHIVED = `
delete from archived_memories using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and archived_memories.id = $3
returning archived_memories.id, conversation_id as "conversationId", content`;

/** By its text: operations of an earlier version name no memory. */
const ERASE_ARCHIVING = `
with cleared as (
  update memory_operations set top_result = null where tenant_id = $1 and user_id = $2 and top_result->>'id' = $3::uuid::text and memory_id is null
)
delete from memory_operations
using unnest($4::uuid[], $5::text[]) as gone (conversation_id, content)
where tenant_id = $1 and user_id = $2 and (memory_id = $3
  or operation = 'archival_insert' and memory_operations.conversation_id = gone.conversation_id and new_value = gone.content)
returning id`;

const NOTHING: Erased = { messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 };

/** Erases all of core memory, or `limit` rows of the tables that grow. */
async function eraseMemory(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  limit: number,
): Promise<{ erased: ErasedMemory; isAll: boolean }> {
  const erase = { name: "erase-memory", text: ERASE_MEMORY, values: [tenantId, userId, limit] };
  const { memoryOperations, isAll } = await queryRow<{ memoryOperations: number; isAll: boolean }>(transaction, erase);
  if (!isAll) return { erased: { coreMemorySections: 0, memoryOperations }, isAll };
  await transaction.query({ name: "erase-grants", text: ERASE_GRANTS, values: [tenantId, userId] });
  const sections = await transaction.query({ name: "erase-sections", text: ERASE_SECTIONS, values: [tenantId, userId] });
  return { erased: { coreMemorySections: sections.length, memoryOperations }, isAll };
}

/**
 * Erases from a database. More than `atOnce` rows are erased in parts, a transaction each. Decisions of the last `keepDecisionsDays` days
 * stay, without their words.
 */
export function makeEraseStore(
  database: Database,
  queue: JobQueue = makeJobQueue(database),
  atOnce = ERASE_BATCH_ROWS,
  keepDecisionsDays = 0,
): EraseStore {
  /** Locks in everyone's order: owner, conversations, jobs. */
  const inTransaction = <Result>(owner: Owner, work: (transaction: Queryable, jobs: JobTransaction) => Promise<Result>): Promise<Result> =>
    queue.transaction(async (transaction, jobs) => {
      await lockOwner(transaction, owner);
      return work(transaction, jobs);
    });

  const erasures = makeErasureStore(database, queue, atOnce);

  async function eraseConversation(
    transaction: Queryable,
    jobs: JobTransaction,
    { conversationId, ...owner }: OwnedConversation,
  ): Promise<ErasedRows> {
    const { forks, answerIds } = await eraseFromForks(transaction, jobs, owner, conversationId);
    const rows = await eraseConversations(transaction, owner, [conversationId]);
    await eraseDecisions(transaction, owner, keepDecisionsDays, { conversationIds: [conversationId] });
    const { archivedIds, ...memory } = await eraseDerivedMemory(transaction, owner, { conversationId, jobs });
    const messages = rows.messages + answerIds.length;
    const erased = { ...rows, messages, ...memory.erased, jobs: await jobs.erase({ ...owner, conversationId }) };
    const key = ownerKey(owner.tenantId, owner.userId);
    const entries = { ownerKey: key, groupIds: [episodeGroupId(conversationId)], episodeIds: [...archivedIds, ...answerIds] };
    return { erased, forks, entries, isIndexed: await addMarkersAndSweeps(transaction, jobs, entries) };
  }

  async function softDeleteConversation(
    transaction: Queryable,
    jobs: JobTransaction,
    { conversationId, ...owner }: OwnedConversation,
  ): Promise<ErasedRows> {
    const { tenantId, userId } = owner;
    const erasure = { id: uuidv7(), tenantId, ownerKey: ownerKey(tenantId, userId), conversationId };
    const { forks, answerIds } = await eraseFromForks(transaction, jobs, owner, conversationId);
    const { messages, isIndexed } = await softDeleteConversations(transaction, owner, erasure, 1);
    await eraseDecisions(transaction, owner, keepDecisionsDays, { conversationIds: [conversationId] });
    const { archivedIds, ...memory } = await eraseDerivedMemory(transaction, owner, { conversationId, jobs });
    const episodeIds = [...archivedIds, ...answerIds];
    if (episodeIds.length > 0) await addMarkersAndSweeps(transaction, jobs, { ownerKey: erasure.ownerKey, groupIds: [], episodeIds });
    const erasedJobs = await jobs.erase({ ...owner, conversationId });
    await recordErasure(transaction, jobs, erasure, { messages, ...memory.erased, jobs: erasedJobs });
    return { erased: { ...NOTHING, messages: answerIds.length }, forks, entries: null, isIndexed };
  }

  async function eraseUser(transaction: Queryable, jobs: JobTransaction, owner: Owner): Promise<ErasedRows> {
    const { tenantId, userId } = owner;
    const conversations = await transaction.query<{ id: string }>({
      name: "erase-list",
      text: "select id from conversations where tenant_id = $1 and user_id = $2 for update",
      values: [tenantId, userId],
    });
    const ids = conversations.map(({ id }) => id);
    const rows = await eraseConversations(transaction, owner, ids);
    const memory = await eraseMemory(transaction, owner, atOnce + 1);
    await forgetWhoUsed(transaction, owner);
    await eraseDecisions(transaction, owner, keepDecisionsDays);
    const erased = { ...rows, ...memory.erased, jobs: await jobs.eraseOwner(owner) };
    const entries = { ownerKey: ownerKey(tenantId, userId), groupIds: ids.map(episodeGroupId), episodeIds: [] };
    const isIndexed = await addMarkersAndSweeps(transaction, jobs, entries, { isWhole: true });
    if (erased.coreMemorySections + erased.memoryOperations > 0) await jobs.addVacuum();
    return { erased, forks: [], entries, isIndexed };
  }

  /** Null while more is left. */
  async function softDeleteUser(transaction: Queryable, jobs: JobTransaction, owner: Owner, erasure: Erasure): Promise<ErasedRows | null> {
    const { conversations, messages } = await softDeleteConversations(transaction, owner, erasure, atOnce);
    const memory = await eraseMemory(transaction, owner, atOnce);
    const isLast = memory.isAll && conversations < atOnce;
    const erasedJobs = isLast ? await jobs.eraseOwner(owner) : 0;
    await recordErasure(transaction, jobs, erasure, { messages, ...memory.erased, jobs: erasedJobs });
    if (!isLast) return null;
    await forgetWhoUsed(transaction, owner);
    await eraseDecisions(transaction, owner, keepDecisionsDays);
    const isIndexed = await addMarkers(transaction, { ownerKey: erasure.ownerKey, groupIds: [], episodeIds: [] }, { isWhole: true });
    return { erased: NOTHING, forks: [], entries: null, isIndexed };
  }

  return {
    report: (scope, conversationId) => erasures.report(scope, conversationId),
    find: (scope, id) => erasures.find(scope, id),

    conversation: (conversation, unusedDays) =>
      inTransaction(conversation, async (transaction, jobs) => {
        if (!(await lockConversation(transaction, conversation))) return null;
        if (unusedDays !== undefined && !(await isUnused(transaction, conversation, unusedDays))) return null;
        const large = await isLargeErase(transaction, conversation, conversation.conversationId, atOnce);
        return (large ? softDeleteConversation : eraseConversation)(transaction, jobs, conversation);
      }),

    async user(owner) {
      const small = await inTransaction(owner, async (transaction, jobs) => {
        return (await isLargeErase(transaction, owner, null, atOnce)) ? null : eraseUser(transaction, jobs, owner);
      });
      if (small) return small;
      const { tenantId, userId } = owner;
      const erasure = { id: uuidv7(), tenantId, ownerKey: ownerKey(tenantId, userId), conversationId: null };
      for (;;) {
        const rows = await inTransaction(owner, (transaction, jobs) => softDeleteUser(transaction, jobs, owner, erasure));
        if (rows) return rows;
      }
    },

    branch: (conversation, branchId, options) =>
      inTransaction(conversation, (transaction, jobs) =>
        eraseBranch(transaction, jobs, conversation, branchId, { ...options, keepDecisionsDays }),
      ),

    episode: (owner, episodeId) =>
      inTransaction(owner, async (transaction, jobs) => {
        const { tenantId, userId } = owner;
        const pair = await eraseExchange(transaction, jobs, owner, episodeId, keepDecisionsDays);
        const archived = await transaction.query<{ id: string; conversationId: string; content: string }>({
          name: "erase-archived",
          text: ERASE_ARCHIVED,
          values: [tenantId, userId, episodeId],
        });
        if (!pair && archived.length === 0) return null;
        const archiving = await transaction.query({
          name: "erase-archiving",
          text: ERASE_ARCHIVING,
          values: [
            tenantId,
            userId,
            episodeId,
            archived.map(({ conversationId }) => conversationId),
            archived.map(({ content }) => content),
          ],
        });
        const ofPair = pair?.erased ?? NOTHING;
        const erased = { ...ofPair, memoryOperations: ofPair.memoryOperations + archiving.length };
        const episodeIds = [...new Set([episodeId, ...(pair?.episodeIds ?? [])])];
        const entries = { ownerKey: ownerKey(tenantId, userId), groupIds: [], episodeIds };
        const isIndexed = await addMarkersAndSweeps(transaction, jobs, entries);
        return { erased, forks: pair?.forks ?? [], entries, isIndexed };
      }),
  };
}
