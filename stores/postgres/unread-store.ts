import { makeJobQueue, type JobQueue } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import type { Cursor } from "../page.ts";
import type { Database, Queryable } from "./database.ts";
import { lockConversation } from "./lock-conversation.ts";
import { lockOwner } from "./lock-owner.ts";
import type { Role } from "./message-store.ts";
import { addOperations, type MemoryOperation } from "./operation-store.ts";
import { writeSections, type SectionChange } from "./write-sections.ts";

/** A completed message that the memory agent has not read. */
export interface UnreadMessage extends Cursor {
  role: Role;
  content: string;
  /** It came by an import, not by a turn. */
  imported: boolean;
  /** It was read before an import made the agent go back. */
  isKnown: boolean;
}

/** What is unread of one conversation, oldest first. */
export interface UnreadConversation {
  conversationId: string;
  /** Null: nothing of it has been read. */
  readThrough: Cursor | null;
  messages: UnreadMessage[];
}

/** A memory that becomes an episode of its own. */
export interface MemoryToArchive {
  id: string;
  triggerMessageId: string;
  content: string;
  episodeType: string;
  importance: number;
}

/** What the memory agent decided on reading some turns. */
export interface ReadingResult {
  changes: readonly SectionChange[];
  /** Operations that are no changes of a section: archived, searched, refused. */
  operations: readonly MemoryOperation[];
  archived: readonly MemoryToArchive[];
}

/** `stale`: a section has changed since it was read, or messages are gone; decide again. `lost`: another has read these turns, or all is erased. */
export type ReadingOutcome = "saved" | "stale" | "lost";

export interface UnreadStore {
  /** The conversation of this user that has waited longest for the memory agent; null when there is none. */
  next(owner: Owner, limit: number): Promise<UnreadConversation | null>;
  /** Writes everything the agent decided and moves its cursor, all or nothing. */
  save(owner: Owner, read: UnreadConversation, through: Cursor, result: ReadingResult): Promise<ReadingOutcome>;
  /** Whether completed answers of this user are unread. Locks the owner: no turn of it can end meanwhile. */
  lockAndLook(transaction: Queryable, owner: Owner): Promise<boolean>;
}

/** A conversation with a completed answer behind the cursor. Its row tells whether it is worth looking. */
const UNREAD = `
from conversations left join memory_cursors on conversation_id = conversations.id
where tenant_id = $1 and user_id = $2
  and last_message_at >= coalesce(read_through_created_at, '-infinity')
  and exists (
    select from messages where messages.conversation_id = conversations.id and completed and role = 'assistant'
      and (messages.created_at, messages.id) > (
        coalesce(read_through_created_at, '-infinity'), coalesce(read_through_message_id, '00000000-0000-0000-0000-000000000000')))`;

const NEXT = `
with chosen as materialized (
  select conversations.id, read_through_created_at, read_through_message_id, known_through_created_at, known_through_message_id, known_before_id ${UNREAD} order by last_message_at, conversations.id limit 1
)
select chosen.id as "conversationId", read_through_created_at, read_through_message_id,
  (select coalesce(json_agg(oldest), '[]') from (
    select id, role, content, not metadata ? 'turn_id' as imported, created_at,
      coalesce(id < known_before_id and (created_at, id) <= (known_through_created_at, known_through_message_id), false) as "isKnown"
    from messages where conversation_id = chosen.id and completed
      and (created_at, id) > (
        coalesce(read_through_created_at, '-infinity'), coalesce(read_through_message_id, '00000000-0000-0000-0000-000000000000'))
    order by created_at, id limit $3
  ) oldest) as messages
from chosen`;

const MOVE_CURSOR = `
insert into memory_cursors as kept (conversation_id, read_through_created_at, read_through_message_id) values ($1, $2, $3)
on conflict (conversation_id) do update
set read_through_created_at = excluded.read_through_created_at, read_through_message_id = excluded.read_through_message_id,
  known_through_created_at = case when (excluded.read_through_created_at, excluded.read_through_message_id) < (kept.known_through_created_at, kept.known_through_message_id) then kept.known_through_created_at end,
  known_through_message_id = case when (excluded.read_through_created_at, excluded.read_through_message_id) < (kept.known_through_created_at, kept.known_through_message_id) then kept.known_through_message_id end,
  known_before_id = case when (excluded.read_through_created_at, excluded.read_through_message_id) < (kept.known_through_created_at, kept.known_through_message_id) then kept.known_before_id end
where (kept.read_through_created_at, kept.read_through_message_id) = ($4::timestamptz, $5::uuid)
returning conversation_id`;

const ARCHIVE = `
insert into archived_memories (id, conversation_id, trigger_message_id, content, episode_type, importance, created_at)
select id, $1, "triggerMessageId", content, "episodeType", importance, clock_timestamp()
from jsonb_to_recordset($2::jsonb) as given (id uuid, "triggerMessageId" uuid, content text, "episodeType" text, importance double precision)
on conflict (conversation_id, md5(content)) do nothing
returning content`;

/** Archives memories; the contents of those that are new. */
async function archive(transaction: Queryable, conversationId: string, memories: readonly MemoryToArchive[]): Promise<Set<string | null>> {
  if (memories.length === 0) return new Set();
  const rows = await transaction.query<{ content: string }>({
    name: "unread-archive",
    text: ARCHIVE,
    values: [conversationId, JSON.stringify(memories)],
  });
  return new Set(rows.map(({ content }) => content));
}

interface NextRow {
  conversationId: string;
  read_through_created_at: Date | null;
  read_through_message_id: string | null;
  messages: (Omit<UnreadMessage, "createdAt"> & { created_at: string })[];
}

export function makeUnreadStore(database: Database, queue: JobQueue = makeJobQueue(database)): UnreadStore {
  return {
    async next({ tenantId, userId }, limit) {
      const [row] = await database.query<NextRow>({ name: "unread-next", text: NEXT, values: [tenantId, userId, limit] });
      if (!row) return null;
      const { conversationId, read_through_created_at: createdAt, read_through_message_id: id } = row;
      return {
        conversationId,
        readThrough: createdAt && id ? { createdAt, id } : null,
        messages: row.messages.map(({ created_at, ...message }) => ({ ...message, createdAt: new Date(created_at) })),
      };
    },

    save: (owner, { conversationId, readThrough, messages }, through, { changes, operations, archived }) =>
      queue
        .transaction(async (transaction, jobs): Promise<ReadingOutcome> => {
          await lockOwner(transaction, owner);
          if (!(await lockConversation(transaction, { ...owner, conversationId }))) return "lost";
          const moved = await transaction.query({
            name: "unread-move",
            text: MOVE_CURSOR,
            values: [conversationId, through.createdAt, through.id, readThrough?.createdAt ?? null, readThrough?.id ?? null],
          });
          if (moved.length === 0) return "lost";
          const ids = messages.map(({ id }) => id);
          const [row] = await transaction.query<{ count: number }>({
            name: "unread-still-there",
            text: "select count(*)::int as count from messages where conversation_id = $1 and id = any($2)",
            values: [conversationId, ids],
          });
          if (row?.count !== ids.length) throw new StaleReading();
          if (changes.length > 0 && !(await writeSections(transaction, owner, changes))) throw new StaleReading();
          const added = await archive(transaction, conversationId, archived);
          // What was archived before is no operation.
          const isDone = ({ operation, refused, newValue }: MemoryOperation): boolean =>
            operation !== "archival_insert" || refused !== null || added.has(newValue);
          await addOperations(transaction, owner, operations.filter(isDone));
          if (added.size > 0) await jobs.add([{ ...owner, kind: "index_episodes", conversationId }]);
          return "saved";
        })
        .catch((error: unknown) => {
          if (error instanceof StaleReading) return "stale" as const;
          throw error;
        }),

    async lockAndLook(transaction, owner) {
      await lockOwner(transaction, owner);
      const [row] = await transaction.query<{ unread: boolean }>({
        name: "unread-look",
        text: `select exists (select ${UNREAD}) as unread`,
        values: [owner.tenantId, owner.userId],
      });
      return row?.unread ?? false;
    },
  };
}

/** Rolls the transaction back: the cursor must not move past what was decided on something else. */
class StaleReading extends Error {}
