import { v7 as uuidv7 } from "uuid";
import type { Job } from "../jobs/job.ts";
import { makeJobQueue, type JobQueue, type JobTransaction } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import { episodeGroupId } from "../search/episode-group-id.ts";
import { ownerKey } from "../search/owner-key.ts";
import type { Database, Queryable } from "./database.ts";
import { erasePair, type Erased } from "./erase-pair.ts";
import { lockOwner } from "./lock-owner.ts";
import type { OwnedConversation } from "./summary-store.ts";
import { unlearn } from "./unlearn.ts";

/** What the index still has of it: hashes and ids only. */
export interface LeftInIndex {
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
}

export interface ErasedRows {
  erased: Erased;
  left: LeftInIndex;
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

/** Seconds after which the index is cleared, and once more: by then what was at work on it when its job was erased is over. */
const SWEEPS = [5, 60];
/** Groups that one job clears: a filter of a bearable length. */
const GROUPS_A_JOB = 500;
/** Markers are of use for as long as a turn or a rebuild of the index takes. */
const MARKERS_KEPT = "30 days";

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

const MARK = `
insert into erase_markers (id, owner_key, group_id, episode_id, erased_at)
select id, $1, group_id, episode_id, clock_timestamp()
from jsonb_to_recordset($2::jsonb) as given (id uuid, group_id uuid, episode_id uuid)`;

const ERASE_ARCHIVED = `
delete from archived_memories using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and (archived_memories.id = $3 or trigger_message_id = $3)
returning archived_memories.id, conversation_id as "conversationId", content`;

const ERASE_ARCHIVING = `
delete from memory_operations
where tenant_id = $1 and user_id = $2 and operation = 'archival_insert' and conversation_id = $3 and new_value = $4 returning id`;

async function mark(transaction: Queryable, { ownerKey: key, groupIds, episodeIds }: LeftInIndex, isWhole: boolean): Promise<void> {
  const markers = [
    ...(isWhole ? [{ id: uuidv7() }] : []),
    ...groupIds.map((group_id) => ({ id: uuidv7(), group_id })),
    ...episodeIds.map((episode_id) => ({ id: uuidv7(), episode_id })),
  ];
  await transaction.query({ name: "erase-mark", text: MARK, values: [key, JSON.stringify(markers)] });
  await transaction.query({
    name: "erase-prune",
    text: `delete from erase_markers where erased_at < clock_timestamp() - interval '${MARKERS_KEPT}'`,
  });
}

/** Adds the jobs that clear the index, one for every so many groups and each sweep. */
async function addSweeps(jobs: JobTransaction, { ownerKey: key, groupIds, episodeIds }: LeftInIndex): Promise<void> {
  for (const seconds of SWEEPS) {
    const sweeps: Job[] = [];
    for (let start = 0; start === 0 || start < groupIds.length; start += GROUPS_A_JOB) {
      const groups = groupIds.slice(start, start + GROUPS_A_JOB);
      const episodes = start === 0 ? episodeIds : [];
      if (groups.length + episodes.length === 0) continue;
      sweeps.push({ kind: "erase_episodes", id: uuidv7(), ownerKey: key, groupIds: groups, episodeIds: episodes });
    }
    await jobs.add(sweeps, seconds);
  }
}

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
        const erasedJobs = await jobs.erase(conversationId);
        await mark(transaction, left, false);
        await addSweeps(jobs, left);
        const { messages, summaries } = row;
        return { erased: { messages, summaries, coreMemorySections: sections, memoryOperations: operations, jobs: erasedJobs }, left };
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
        await mark(transaction, left, true);
        await addSweeps(jobs, left);
        return { erased, left };
      }),

    episode: (owner, episodeId) =>
      inTransaction(owner, async (transaction, jobs) => {
        const { tenantId, userId } = owner;
        const erased: Erased = { messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 };
        const pair = await erasePair(transaction, jobs, owner, episodeId, erased);
        const archived = await transaction.query<{ id: string; conversationId: string; content: string }>({
          name: "erase-archived",
          text: ERASE_ARCHIVED,
          values: [tenantId, userId, episodeId],
        });
        for (const { conversationId, content } of archived) {
          const gone = await transaction.query({
            name: "erase-archiving",
            text: ERASE_ARCHIVING,
            values: [tenantId, userId, conversationId, content],
          });
          erased.memoryOperations += gone.length;
        }
        if (!pair && archived.length === 0) return null;
        const episodeIds = [...new Set([episodeId, ...archived.map(({ id }) => id)])];
        const left = { ownerKey: ownerKey(tenantId, userId), groupIds: [], episodeIds };
        await mark(transaction, left, false);
        await addSweeps(jobs, left);
        return { erased, left };
      }),
  };
}
