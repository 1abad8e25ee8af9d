import { type DoneCondition, type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import { type Cursor, isBehind } from "../../page.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { onPathSql } from "../paths/branch-path.ts";
import { isAnchorSql, type MessageRow, messageRowsSql, type ReadMessage, toReadMessage } from "../conversations/exchanges.ts";
import { lockConversation, lockOwner, ownerLock } from "../paths/locks.ts";
import { addMarkersAndSweeps } from "../conversations/erase-markers.ts";
import { ownerKey } from "../../index-keys.ts";
import { archiveMemories, correctMemories, type MemoryCorrection, type MemoryToArchive } from "./archive-store.ts";
import { addOperations, type MemoryOperation } from "./operation-store.ts";
import { saveLines, type SectionVersionLines } from "./section-versions.ts";
import { removeTurnsToReread, TURNS_TO_REREAD } from "./turns-to-reread.ts";
import { type SectionChange, writeSections } from "./write-sections.ts";
import { placeOrStart } from "../database/sql-parts.ts";

/** Unread messages of one conversation, oldest first. */
export interface UnreadConversation {
  conversationId: string;
  /** Null when nothing has been read. */
  readThrough: Cursor | null;
  messages: ReadMessage[];
  /** Questions whose turns are read again after an erase; null for new turns. */
  again: readonly string[] | null;
  importedCount: number;
  /** As text. Anything outside it counts as known. */
  path: string | null;
  /** Core memory has to follow a path of the owner first. */
  isBehind: boolean;
}

export type RestingLines = Pick<SectionVersionLines, "section" | "version" | "lines">;

export interface ReadingResult {
  changes: readonly SectionChange[];
  repeated: readonly RestingLines[];
  /** Without those of `changes`. */
  operations: readonly MemoryOperation[];
  archived: readonly MemoryToArchive[];
  corrected: readonly MemoryCorrection[];
  basedOn: { sections: readonly { section: string; version: number }[]; messageIds: readonly string[] };
}

/** `stale`: its basis has changed, decide again. `lost`: another process has read these turns, or all is erased. */
export type ReadingOutcome = "saved" | "stale" | "lost";

export interface UnreadStore {
  /** The user's conversation that has waited longest, new turns before those to read again. */
  next(owner: Owner, limit: number): Promise<UnreadConversation | null>;
  /** Writes the result and moves the cursor, or does nothing. */
  save(owner: Owner, read: UnreadConversation, through: Cursor | null, result: ReadingResult): Promise<ReadingOutcome>;
  /** Nothing is unread, and core memory follows every path. Locks the owner. */
  whenRead(owner: Owner): DoneCondition;
  /** Whether anything is unread, or a path to be followed. Locks the owner. */
  lockAndCheck(transaction: Queryable, owner: Owner): Promise<boolean>;
}

/** A conversation with an anchor after the cursor. `last_message_at` spares most of them a look at their messages. */
const UNREAD = `
from conversations left join memory_cursors on conversation_id = conversations.id
where tenant_id = $1 and user_id = $2
  and last_message_at >= coalesce(read_through_created_at, '-infinity')
  and exists (
    select from messages where messages.conversation_id = conversations.id and completed and ${isAnchorSql("messages")}
      and (messages.created_at, messages.id) > ${placeOrStart("read_through_created_at", "read_through_message_id")})`;

const IS_BEHIND = "exists (select from conversations where tenant_id = $1 and user_id = $2 and path is distinct from remembered_path)";

const LOOK = "select has_unread_memory($1, $2) as unread";

const NEXT = `
with chosen as materialized (
  select conversations.id, imported_count, path, read_through_created_at, read_through_message_id, known_through_created_at, known_through_message_id
  ${UNREAD} order by last_message_at, conversations.id limit 1
)
select chosen.id as "conversationId", imported_count as "importedCount", path::text as path, ${IS_BEHIND} as "isBehind", read_through_created_at, read_through_message_id,
  ${messageRowsSql(`
    select *, coalesce(not is_unread, (created_at, id) <= (known_through_created_at, known_through_message_id), false)
      or not ${onPathSql("messages", "chosen.path")} as is_known
    from messages where conversation_id = chosen.id and completed
      and (created_at, id) > ${placeOrStart("read_through_created_at", "read_through_message_id")}
    order by created_at, id limit $3`)} as messages
from chosen`;

/** The anchors of turns to read again: the imported message, or the answer of a turn. */
const NEXT_REREAD = `
with chosen as materialized (
  select conversation_id, imported_count, path ${TURNS_TO_REREAD} order by noted_at, message_id limit 1
), noted as materialized (
  select message_id from turns_to_read_again where conversation_id = (select conversation_id from chosen) order by message_id limit $3
)
select conversation_id as "conversationId", imported_count as "importedCount", path::text as path, ${IS_BEHIND} as "isBehind", (select array_agg(message_id) from noted) as again,
  ${messageRowsSql(`
    select *, false as is_known from messages
    where completed and id in (select message_id from noted union select answer_id from turns join noted on question_id = message_id)
      and ${onPathSql("messages", "chosen.path")}`)} as messages
from chosen`;

const moveCursor = (rows: string): string => `
insert into memory_cursors as existing (conversation_id, read_through_created_at, read_through_message_id) ${rows}
on conflict (conversation_id) do update
set read_through_created_at = excluded.read_through_created_at, read_through_message_id = excluded.read_through_message_id,
  known_through_created_at = case when (excluded.read_through_created_at, excluded.read_through_message_id) < (existing.known_through_created_at, existing.known_through_message_id) then existing.known_through_created_at end,
  known_through_message_id = case when (excluded.read_through_created_at, excluded.read_through_message_id) < (existing.known_through_created_at, existing.known_through_message_id) then existing.known_through_message_id end
where (existing.read_through_created_at, existing.read_through_message_id) = ($4::timestamptz, $5::uuid)
returning conversation_id`;

const MOVE_CURSOR = moveCursor("values ($1, $2, $3)");
const MOVE_CURSOR_ALONE = moveCursor(
  "select id, $2, $3 from conversations where id = $1 and tenant_id = $6 and user_id = $7 and imported_count = $8 and path::text is not distinct from $9 for share",
);

const WHEN_READ = `
with guard as materialized (select pg_advisory_xact_lock($1::bigint)), looked as materialized (select has_unread_memory($2, $3) as unread from guard)
select from looked where not unread`;

const MARK = "update messages set is_unread = false where conversation_id = $1 and id = any($2)";

interface NextRow {
  conversationId: string;
  read_through_created_at: Date | null;
  read_through_message_id: string | null;
  importedCount: number;
  path: string | null;
  isBehind: boolean;
  messages: MessageRow[];
}

async function nextReread(database: Database, { tenantId, userId }: Owner, limit: number): Promise<UnreadConversation | null> {
  const [row] = await database.query<Omit<UnreadConversation, "messages" | "readThrough"> & { messages: MessageRow[] }>({
    name: "unread-again",
    text: NEXT_REREAD,
    values: [tenantId, userId, Math.ceil(limit / 2)],
  });
  return row ? { ...row, readThrough: null, messages: row.messages.map(toReadMessage) } : null;
}

function isEmpty({ changes, repeated, operations, archived, corrected }: ReadingResult): boolean {
  return [changes, repeated, operations, archived, corrected].every(({ length }) => length === 0);
}

/** Moves the cursor after a reading that changed nothing; false when the ordinary way has to decide. */
async function advanceAtOnce(
  database: Database,
  { tenantId, userId }: Owner,
  { conversationId, readThrough, messages, importedCount, path }: UnreadConversation,
  through: Cursor,
): Promise<boolean> {
  if (messages.some(({ imported }) => imported)) return false;
  const places = [through.createdAt, through.id, readThrough?.createdAt ?? null, readThrough?.id ?? null];
  const values = [conversationId, ...places, tenantId, userId, importedCount, path];
  const moved = await database.query({ name: "unread-move-alone", text: MOVE_CURSOR_ALONE, values });
  return moved.length === 1;
}

async function advance(
  transaction: Queryable,
  owner: Owner,
  { conversationId, readThrough, again, messages }: UnreadConversation,
  through: Cursor | null,
): Promise<boolean> {
  if (again) return removeTurnsToReread(transaction, owner, again);
  if (!through) throw new Error("new turns were read to nowhere");
  const moved = await transaction.query({
    name: "unread-move",
    text: MOVE_CURSOR,
    values: [conversationId, through.createdAt, through.id, readThrough?.createdAt ?? null, readThrough?.id ?? null],
  });
  if (moved.length === 0) return false;
  const seen = messages.filter((message) => message.imported && !isBehind(message, through)).map(({ id }) => id);
  if (seen.length > 0) await transaction.query({ name: "unread-mark", text: MARK, values: [conversationId, seen] });
  return true;
}

/** Whether the result's basis is there, nothing was imported, and the path is the same. */
async function isUnchanged(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { changes, repeated, basedOn }: ReadingResult,
  { conversationId, messages, importedCount, path }: UnreadConversation,
) {
  const read = messages.flatMap(({ id, partner }) => (partner ? [id, partner.id] : [id]));
  const messageIds = [...new Set([...read, ...basedOn.messageIds])];
  const sections = changes.length + repeated.length > 0 ? basedOn.sections : [];
  const row = await queryRow<{ messages: number; sections: number; imported: number; isSamePath: boolean }>(transaction, {
    name: "unread-still-there",
    text: `select (select count(*) from messages where id = any($3))::int as messages, (
      select count(*) from core_memory_sections existing join jsonb_to_recordset($4::jsonb) as given (section text, version integer) using (section, version)
      where tenant_id = $1 and user_id = $2)::int as sections, imported_count as imported, path::text is not distinct from $6 as "isSamePath" from conversations where id = $5`,
    values: [tenantId, userId, messageIds, JSON.stringify(sections), conversationId, path],
  });
  return row.messages === messageIds.length && row.sections === sections.length && row.imported === importedCount && row.isSamePath;
}

export function makeUnreadStore(database: Database, queue: JobQueue = makeJobQueue(database)): UnreadStore {
  return {
    async next({ tenantId, userId }, limit) {
      const [row] = await database.query<NextRow>({ name: "unread-next", text: NEXT, values: [tenantId, userId, limit] });
      if (!row) return nextReread(database, { tenantId, userId }, limit);
      const { read_through_created_at: createdAt, read_through_message_id: id, messages, ...rest } = row;
      const readThrough = createdAt && id ? { createdAt, id } : null;
      return { ...rest, readThrough, messages: messages.map(toReadMessage), again: null };
    },

    whenRead: (owner) => ({ name: "unread-settle", text: WHEN_READ, values: [ownerLock(owner), owner.tenantId, owner.userId] }),

    async save(owner, read, through, result) {
      if (through && isEmpty(result) && (await advanceAtOnce(database, owner, read, through))) return "saved";
      return queue
        .transaction(async (transaction, jobs): Promise<ReadingOutcome> => {
          const { conversationId } = read;
          const { changes, repeated, operations, archived, corrected } = result;
          await lockOwner(transaction, owner);
          if (!(await lockConversation(transaction, { ...owner, conversationId }))) return "lost";
          if (!(await advance(transaction, owner, read, through))) return "lost";
          if (!(await isUnchanged(transaction, owner, result, read))) throw new StaleReading();
          if (changes.length > 0 && !(await writeSections(transaction, owner, changes))) throw new StaleReading();
          await saveLines(transaction, owner, repeated);
          const followed = await correctMemories(transaction, owner, corrected);
          if (!followed) throw new StaleReading();
          const added = await archiveMemories(transaction, { ...owner, conversationId }, archived);
          // Archiving a memory again is no operation.
          const isDone = ({ operation, refused, newValue }: MemoryOperation): boolean =>
            operation !== "archival_insert" || refused !== null || added.has(newValue);
          await addOperations(transaction, owner, operations.filter(isDone));
          const toIndex = new Set([...(added.size > 0 ? [conversationId] : []), ...followed.changed]);
          await jobs.add([...toIndex].map((id) => ({ ...owner, kind: "index_episodes" as const, conversationId: id })));
          if (followed.removed.length > 0) {
            const gone = { ownerKey: ownerKey(owner.tenantId, owner.userId), groupIds: [], episodeIds: followed.removed };
            await addMarkersAndSweeps(transaction, jobs, gone);
          }
          return "saved";
        })
        .catch((error: unknown) => {
          if (error instanceof StaleReading) return "stale" as const;
          throw error;
        });
    },

    async lockAndCheck(transaction, owner) {
      await lockOwner(transaction, owner);
      const look = { name: "unread-look", text: LOOK, values: [owner.tenantId, owner.userId] };
      return (await queryRow<{ unread: boolean }>(transaction, look)).unread;
    },
  };
}

/** Rolls back the cursor, too. */
class StaleReading extends Error {}
