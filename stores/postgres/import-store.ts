import { setImmediate as letOthersRun } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import { estimateTokens } from "../../models/estimate-tokens.ts";
import { layerJob, type LayerJobKind } from "../jobs/job.ts";
import { makeJobQueue, type JobQueue } from "../jobs/job-queue.ts";
import type { Owner } from "../owner.ts";
import type { Database, Queryable } from "./database.ts";
import { lockOwnerShared } from "./lock-owner.ts";
import type { Role } from "./message-store.ts";

/** A message from elsewhere; without `createdAt` it counts as said now. The same `metadata.external_id` is imported once. */
export interface MessageToImport {
  role: Role;
  content: string;
  createdAt: Date | null;
  metadata: Record<string, unknown>;
}

/** Messages for one conversation, which is made when it is not there. */
export interface ImportRequest extends Owner {
  sessionId: string;
  /** In any order: they are sorted by time, those of the same time stay in order. */
  messages: readonly MessageToImport[];
  /** Which jobs a conversation with new messages gets. */
  jobKinds: readonly LayerJobKind[];
  /** Called after each batch with how many messages have been dealt with. */
  onProgress?: (done: number) => void;
}

/** What an import came to; the numbers are of messages. */
export interface Imported {
  conversationId: string;
  imported: number;
  /** Those that had been imported before. */
  skipped: number;
}

/** Takes in history from elsewhere. */
export interface ImportStore {
  /**
   * Stores messages with their own time, all or none. Where a summary covers messages of later times it is made anew from the beginning,
   * and indexing goes back to the earliest new one. Throws AppError `conversation_busy` while a turn holds the conversation.
   */
  import(request: ImportRequest): Promise<Imported>;
}

/** Messages of one statement. */
const BATCH = 500;

const TAKE = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
values ($1, $2, $3, $4, 0, '1970-01-01', clock_timestamp(), clock_timestamp())
on conflict (tenant_id, user_id, session_id) do update set updated_at = clock_timestamp()
  where conversations.turn_id is null or conversations.turn_lease_until < clock_timestamp()
returning id, greatest(last_message_at, clock_timestamp()) as now`;

const INSERT = `
insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at)
select id, $1, role, content, true, token_count, metadata, created_at
from jsonb_to_recordset($2::jsonb) as given (id uuid, role text, content text, token_count integer, metadata jsonb, created_at timestamptz)
on conflict (conversation_id, (metadata->>'external_id')) where metadata ? 'external_id' do nothing
returning created_at`;

const COUNT = `
update conversations set message_count = message_count + $2, rewrites = rewrites + 1, last_message_at = greatest(last_message_at, $3), updated_at = clock_timestamp()
where id = $1`;

/**
 * The cover point moves back here only: the version still rises, so that a summary being written from the old one is not saved. Earlier
 * versions that stand for what is changed go.
 */
export const REBUILD_SUMMARY = `
with outdated as (
  delete from conversation_summary_versions where conversation_id = $1 and covered_through_created_at >= $2
)
update conversation_summaries
set summary = '', summary_version = summary_version + 1, covered_through_created_at = '0001-01-01',
  covered_through_message_id = '00000000-0000-0000-0000-000000000000', covered_message_count = 0, token_count = 0, updated_at = clock_timestamp()
where conversation_id = $1 and covered_through_created_at >= $2
returning conversation_id`;

/** Back to the message before the earliest new one, which may be the answer to it. */
const REINDEX = `
update episode_cursors
set indexed_through_created_at = coalesce(
    (select max(created_at) from messages where conversation_id = $1 and completed and created_at < $2), $2::timestamptz) - interval '1 millisecond',
  indexed_through_message_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  last_episode_id = coalesce(
    (select id from messages where conversation_id = $1 and completed and role = 'user' and created_at < $2 order by created_at desc, id desc offset 1 limit 1),
    last_episode_id)
where conversation_id = $1 and indexed_through_created_at >= $2`;

/** The memory agent reads from the message before the earliest new one, too; what is older than what is known changes nothing. */
const REREAD = `
update memory_cursors
set known_through_created_at = case when is_further then known_through_created_at else read_through_created_at end,
  known_through_message_id = case when is_further then known_through_message_id else read_through_message_id end,
  known_before_id = least(known_before_id, $3::uuid),
  read_through_created_at = coalesce(
    (select max(created_at) from messages where conversation_id = $1 and completed and created_at < $2), $2::timestamptz) - interval '1 millisecond',
  read_through_message_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
from (
  select coalesce((known_through_created_at, known_through_message_id) > (read_through_created_at, read_through_message_id), false) as is_further
  from memory_cursors where conversation_id = $1
) known
where conversation_id = $1 and read_through_created_at >= $2`;

/** In order of time; what has none comes last, a millisecond apart. */
function inOrder(messages: readonly MessageToImport[], now: Date): (MessageToImport & { createdAt: Date })[] {
  let last = now.getTime();
  return messages
    .map((message) => ({ ...message, createdAt: message.createdAt ?? new Date(++last) }))
    .sort((one, other) => one.createdAt.getTime() - other.createdAt.getTime());
}

function toRow({ role, content, createdAt, metadata }: MessageToImport & { createdAt: Date }): object {
  return { id: uuidv7(), role, content, token_count: estimateTokens(content), metadata, created_at: createdAt };
}

async function insertAll(
  transaction: Queryable,
  conversationId: string,
  messages: (MessageToImport & { createdAt: Date })[],
  onProgress: (done: number) => void,
): Promise<Date[]> {
  const times: Date[] = [];
  for (let start = 0; start < messages.length; start += BATCH) {
    const batch = messages.slice(start, start + BATCH);
    const rows = await transaction.query<{ created_at: Date }>({
      name: "import-insert",
      text: INSERT,
      values: [conversationId, JSON.stringify(batch.map(toRow))],
    });
    times.push(...rows.map(({ created_at }) => created_at));
    onProgress(start + batch.length);
    await letOthersRun(); // the embedded database answers without letting go of the event loop: progress would be told at the end
  }
  return times;
}

/** Imports into a database; `queue` takes the jobs of what is new. */
export function makeImportStore(database: Database, queue: JobQueue = makeJobQueue(database)): ImportStore {
  return {
    import: ({ tenantId, userId, sessionId, messages, jobKinds, onProgress = () => undefined }) =>
      queue.transaction(async (transaction, jobs) => {
        await lockOwnerShared(transaction, { tenantId, userId });
        const [taken] = await transaction.query<{ id: string; now: Date }>({
          name: "import-take",
          text: TAKE,
          values: [uuidv7(), tenantId, userId, sessionId],
        });
        if (!taken) {
          throw new AppError(
            "conversation_busy",
            `The conversation of session_id "${sessionId}" is answering a message. Import after its end.`,
          );
        }
        const conversationId = taken.id;
        const firstId = uuidv7(); // before those of the messages: what has an earlier id was there
        const times = await insertAll(transaction, conversationId, inOrder(messages, taken.now), onProgress);
        if (times.length > 0) {
          const milliseconds = times.map((time) => time.getTime());
          const earliest = new Date(milliseconds.reduce((one, other) => Math.min(one, other)));
          const latest = new Date(milliseconds.reduce((one, other) => Math.max(one, other)));
          await transaction.query({ name: "import-count", text: COUNT, values: [conversationId, times.length, latest] });
          await transaction.query({ name: "import-rebuild", text: REBUILD_SUMMARY, values: [conversationId, earliest] });
          await transaction.query({ name: "import-reindex", text: REINDEX, values: [conversationId, earliest] });
          await transaction.query({ name: "import-reread", text: REREAD, values: [conversationId, earliest, firstId] });
          await jobs.add(jobKinds.map((kind) => layerJob(kind, { tenantId, userId, conversationId })));
        }
        return { conversationId, imported: times.length, skipped: messages.length - times.length };
      }),
  };
}
