import { setImmediate as nextRound } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { layerJob, type LayerJobKind } from "../../jobs/job.ts";
import { makeJobQueue, type JobQueue } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { Database, Queryable } from "../database/database.ts";
import { MAX_UUID, MIN_UUID } from "../database/sql-parts.ts";
import { branchAtSql } from "../paths/branch-path.ts";
import { planImport, type ConversationToFill, type MessageToImport, type NewMessage } from "./plan-import.ts";
import { unlearnInForks } from "./erase-from-forks.ts";
import { lockOwnerShared } from "../paths/locks.ts";

export interface ImportRequest extends Owner {
  sessionId: string;
  /** In any order; sorted by time, stably. */
  messages: readonly MessageToImport[];
  /** Added when there are new messages. */
  jobKinds: readonly LayerJobKind[];
  onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  /** Messages stored or skipped. */
  done: number;
  exchanges: number;
}

export interface Imported {
  conversationId: string;
  imported: number;
  /** Messages imported before. */
  skipped: number;
  /** Exchanges with new messages. */
  exchanges: number;
  messageIds: string[];
}

/** Imports history from elsewhere. */
export interface ImportStore {
  /**
   * Stores messages with their own time, all or none, and pairs questions with answers. Rebuilds a later summary and moves indexing back to
   * the first new message. Throws AppError `conversation_busy` while a turn holds the conversation.
   */
  import(request: ImportRequest): Promise<Imported>;
}

const BATCH = 500;

const TAKE = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
values ($1, $2, $3, $4, 0, '1970-01-01', clock_timestamp(), clock_timestamp())
on conflict (tenant_id, user_id, session_id) do update set updated_at = clock_timestamp()
  where conversations.turn_id is null or conversations.turn_lease_until < clock_timestamp()
returning id, imported_count as "importedCount", created_at as "createdAt", greatest(last_message_at, clock_timestamp()) as now, path is not null as "isBranched",
  (select message_created_at from forks where forks.conversation_id = conversations.id and base_path <> '{}') as "sharedThrough"`;

const INSERT = `
insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at, partner_id, import_number, is_unread, branch_id)
select id, $1, role, content, true, "tokenCount", metadata, "createdAt", "partnerId", number, true, ${branchAtSql("$1", '"createdAt"', "id")}
from jsonb_to_recordset($2::jsonb)
  as given (id uuid, role text, content text, "tokenCount" integer, metadata jsonb, "createdAt" timestamptz, "partnerId" uuid, number integer)`;

const JOIN = `
update messages set partner_id = given."partnerId"
from jsonb_to_recordset($2::jsonb) as given (id uuid, "partnerId" uuid)
where messages.id = given.id and conversation_id = $1`;

const COUNT = `
update conversations set message_count = message_count + $2, path_message_count = path_message_count + $2, rewrites = rewrites + 1, imported_count = imported_count + $2,
  last_message_at = greatest(last_message_at, $3), updated_at = clock_timestamp()
where id = $1`;

/** Recounts branches that share the new messages. $2: the number of earlier imported messages. */
const RECOUNT_BRANCHES = `
update branches set message_count = null, messages_from = least(messages_from, (
  select min(created_at) from messages where conversation_id = $1 and branch_id = branches.id and import_number > $2))
where conversation_id = $1`;

/** Moves a cover point back to the start. The version still rises, so a summary in the making is not saved. */
export const REBUILD_SUMMARY = `
with outdated as (
  delete from conversation_summary_versions where conversation_id = $1 and covered_through_created_at >= $2
)
update conversation_summaries
set summary = '', summary_version = greatest(last_version, summary_version) + 1, covered_through_created_at = '0001-01-01',
  covered_through_message_id = ${MIN_UUID}, covered_message_count = 0, token_count = 0, parts = null, updated_at = clock_timestamp()
where conversation_id = $1 and covered_through_created_at >= $2
returning conversation_id`;

const BEFORE = "$2::timestamptz - interval '1 millisecond'";

const REINDEX = `
update episode_cursors set indexed_through_created_at = ${BEFORE}, indexed_through_message_id = ${MAX_UUID}
where conversation_id = $1 and indexed_through_created_at >= $2`;

/** Turns up to the old cursor stay known; an imported message has its own mark. */
const REREAD = `
update memory_cursors
set known_through_created_at = case when is_further then known_through_created_at else read_through_created_at end,
  known_through_message_id = case when is_further then known_through_message_id else read_through_message_id end,
  read_through_created_at = ${BEFORE},
  read_through_message_id = ${MAX_UUID}
from (
  select coalesce((known_through_created_at, known_through_message_id) > (read_through_created_at, read_through_message_id), false) as is_further
  from memory_cursors where conversation_id = $1
) known
where conversation_id = $1 and read_through_created_at >= $2`;

/** Moves the cursors of summary, index and memory agent back: to the first new message, or to the first of a changed exchange. */
async function rewindCursors(transaction: Queryable, conversationId: string, earliest: Date, changedFrom: Date): Promise<void> {
  await transaction.query({ name: "import-rebuild", text: REBUILD_SUMMARY, values: [conversationId, earliest] });
  await transaction.query({ name: "import-reindex", text: REINDEX, values: [conversationId, changedFrom] });
  await transaction.query({ name: "import-reread", text: REREAD, values: [conversationId, earliest] });
}

interface TakenConversation extends ConversationToFill {
  id: string;
  isBranched: boolean;
  /** The time of the last message that a fork shares. */
  sharedThrough: Date | null;
}

function tooEarly(sharedThrough: Date): AppError {
  const shared = `shares its messages up to ${sharedThrough.toISOString()}`;
  const problem = `has a time among those, or before; this conversation is a fork and ${shared}. Import into the one that it comes from`;
  return AppError.invalid([{ field: "created_at", problem }]);
}

async function insertAll(
  transaction: Queryable,
  conversationId: string,
  messages: readonly NewMessage[],
  onBatch: (stored: readonly NewMessage[]) => void,
): Promise<void> {
  for (let start = 0; start < messages.length; start += BATCH) {
    const batch = messages.slice(start, start + BATCH);
    const rows = batch.map((message) => ({ ...message, tokenCount: estimateTokens(message.content) }));
    const values = [conversationId, JSON.stringify(rows)];
    await transaction.query({ name: "import-insert", text: INSERT, values });
    onBatch(batch);
    await nextRound(); // the embedded database blocks the event loop
  }
}

/** Imports into a database; `queue` takes the jobs. */
export function makeImportStore(database: Database, queue: JobQueue = makeJobQueue(database)): ImportStore {
  return {
    import: ({ tenantId, userId, sessionId, messages, jobKinds, onProgress = () => undefined }) =>
      queue.transaction(async (transaction, jobs) => {
        await lockOwnerShared(transaction, { tenantId, userId });
        const [taken] = await transaction.query<TakenConversation>({
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
        const conversation = { tenantId, userId, conversationId: taken.id };
        const { conversationId } = conversation;
        const plan = await planImport(transaction, conversation, messages, taken);
        const skipped = messages.length - plan.messages.length;
        const progress = { done: skipped, exchanges: 0 };
        await insertAll(transaction, conversationId, plan.messages, (stored) => {
          progress.done += stored.length;
          progress.exchanges += stored.filter(({ endsExchange }) => endsExchange).length;
          onProgress({ ...progress });
        });
        const [first, last] = [plan.messages[0], plan.messages.at(-1)];
        if (first && taken.sharedThrough && first.createdAt <= taken.sharedThrough) throw tooEarly(taken.sharedThrough);
        if (!first || !last) {
          onProgress(progress);
          return { conversationId, imported: 0, skipped, exchanges: 0, messageIds: [] };
        }
        if (plan.joined.length > 0) {
          await transaction.query({ name: "import-join", text: JOIN, values: [conversationId, JSON.stringify(plan.joined)] });
        }
        const values = [conversationId, plan.messages.length, last.createdAt];
        await transaction.query({ name: "import-count", text: COUNT, values });
        if (taken.isBranched) {
          await transaction.query({ name: "import-recount", text: RECOUNT_BRANCHES, values: [conversationId, taken.importedCount] });
        }
        const earliest = first.createdAt;
        const changedFrom = plan.joined.reduce((from, { createdAt }) => (createdAt < from ? createdAt : from), earliest);
        await rewindCursors(transaction, conversationId, earliest, changedFrom);
        await unlearnInForks(transaction, jobs, { tenantId, userId }, { conversationId, from: earliest });
        await jobs.add(jobKinds.map((kind) => layerJob(kind, conversation)));
        const messageIds = plan.messages.map(({ id }) => id);
        return { conversationId, imported: messageIds.length, skipped, exchanges: progress.exchanges, messageIds };
      }),
  };
}
