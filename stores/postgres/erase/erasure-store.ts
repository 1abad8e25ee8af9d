import { type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { OwnerScope } from "../../../turn/owner.ts";
import { episodeGroupId, ownerKey } from "../../index-keys.ts";
import { type Database, type Queryable, queryRow, type StatementValue } from "../database/database.ts";
import { addSweepJobs, type EntriesToSweep, ERASE_BATCH_ROWS, ERASED_TENANT, MARKER_LIFETIME } from "../conversations/erase-markers.ts";
import type { Erased } from "./erase-exchange.ts";

/** The progress of large erases, added up. */
export interface ErasureProgress {
  erased: Erased & { episodes: number };
  /** Null when done. The id is that of the newest unfinished erasure. */
  left: { erasureId: string; messages: number } | null;
}

export interface EmptyGroups {
  ids: string[];
  entries: EntriesToSweep;
}

/** Purges soft-deleted rows, one batch a transaction, so that a restart repeats nothing. */
export interface ErasureStore {
  /** False when no rows with text are left. */
  purgeRows(id: string): Promise<boolean>;
  /** Conversations or documents that the index may have, or null. */
  nextGroups(id: string): Promise<EmptyGroups | null>;
  purgeGroups(id: string, groups: EmptyGroups, episodes: number): Promise<void>;
  /** Ends an erasure; false when rows are left. Locks it against further soft deletes. */
  finish(transaction: Queryable, id: string): Promise<boolean>;
  /** The progress for a user or conversation, or null. A finished erase is reported once. Restarts a purge job that gave up. */
  report(scope: OwnerScope, conversationId: string | null): Promise<ErasureProgress | null>;
  find(scope: OwnerScope, id: string): Promise<ErasureProgress | null>;
}

const GROUP_BATCH = 200;

/** $1 is the erasure. */
const CONVERSATIONS = `from conversations where tenant_id = '${ERASED_TENANT}' and user_id = $1::uuid::text`;
const DOCUMENTS = `from knowledge_documents where tenant_id = '${ERASED_TENANT}' and prefix = $1::uuid::text`;
const FORGET_BASE = `delete from knowledge_bases where tenant_id = '${ERASED_TENANT}' and prefix = $1::uuid::text`;
const IN_ORDER = `order by created_at, id limit ${GROUP_BATCH}`;

const deletionSql = (table: string, group: string): string => `
with removed as (
  delete from ${table} where id = any(array(select id from ${table} where ${group} = any($1::uuid[]) limit $2)) returning 1
)
select count(*)::int as count from removed`;
const MESSAGES = deletionSql("messages", "conversation_id");
const ARCHIVED = deletionSql("archived_memories", "conversation_id");
const CHUNKS = deletionSql("knowledge_chunks", "document_id");

const SUMMARIES = `
with versions as (
  delete from conversation_summary_versions where conversation_id = any($1::uuid[])
), summaries as (
  delete from conversation_summaries where conversation_id = any($1::uuid[]) returning 1
)
select count(*)::int as count from summaries`;

/** $2 rows of $1 are deleted; $3: no more are left. */
const LESS_MESSAGES =
  "update conversations set message_count = case when $3 then 0 else greatest(1, message_count - $2) end where id = any($1::uuid[])";
const LESS_CHUNKS =
  "update knowledge_documents set chunk_count = case when $3 then 0 else greatest(1, chunk_count - $2) end where id = any($1::uuid[])";

const COUNT = "update erasures set messages = messages + $2, summaries = summaries + $3, episodes = episodes + $4 where id = $1";

const PRUNE = `
delete from erasures where id in (
  select id from erasures where finished_at < clock_timestamp() - interval '${MARKER_LIFETIME}' order by finished_at limit ${GROUP_BATCH})`;

const OF_SCOPE = "tenant_key = $1 and ($2::text is null or owner_key = $2)";
const OF_CONVERSATION = `${OF_SCOPE} and ($3::uuid is null or conversation_id = $3)`;
const COLUMNS = `id, all_messages as "allMessages", messages, summaries, episodes,
  core_memory_sections as "coreMemorySections", memory_operations as "memoryOperations", jobs`;
type ErasureRow = Erased & { id: string; allMessages: number; episodes: number };

/** Whole groups of at most `atOnce` rows together, or one larger group. */
function takeBatch(groups: readonly { id: string; rows: number }[], atOnce: number): string[] {
  let rows = 0;
  const isWithin = groups.map((group) => (rows += group.rows) <= atOnce);
  return groups.filter((_, position) => position === 0 || isWithin[position]).map(({ id }) => id);
}

function sumProgress(pending: readonly ErasureRow[], done: readonly ErasureRow[]): ErasureProgress | null {
  if (pending.length + done.length === 0) return null;
  const erased = { messages: 0, summaries: 0, episodes: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 };
  for (const row of [...pending, ...done]) for (const kind of Object.keys(erased) as (keyof typeof erased)[]) erased[kind] += row[kind];
  const messages = pending.reduce((sum, row) => sum + Math.max(0, row.allMessages - row.messages), 0);
  const erasureId = pending.at(-1)?.id;
  return { erased, left: erasureId === undefined ? null : { erasureId, messages } };
}

const scopeKeys = ({ tenantId, userId }: OwnerScope): StatementValue[] => [
  ownerKey(tenantId),
  userId === null ? null : ownerKey(tenantId, userId),
];

/** A batch blocks the event loop. */
const ERASED_AT_ONCE_EMBEDDED = 500;

/** A transaction deletes at most `atOnce` rows of each kind. */
export function makeErasureStore(
  database: Database,
  queue: JobQueue = makeJobQueue(database),
  atOnce = database.isEmbedded ? ERASED_AT_ONCE_EMBEDDED : ERASE_BATCH_ROWS,
): ErasureStore {
  const nextBatch = async (transaction: Queryable, text: string, id: string): Promise<string[]> =>
    takeBatch(await transaction.query<{ id: string; rows: number }>({ text: `${text} ${IN_ORDER}`, values: [id] }), atOnce);
  const runCount = async (transaction: Queryable, text: string, values: StatementValue[]): Promise<number> =>
    (await queryRow<{ count: number }>(transaction, { text, values })).count;

  const purgeConversations = (id: string): Promise<boolean> =>
    database.transaction(async (transaction) => {
      const ids = await nextBatch(transaction, `select id, message_count as rows ${CONVERSATIONS} and message_count > 0`, id);
      if (ids.length === 0) return false;
      if ((await runCount(transaction, ARCHIVED, [ids, atOnce])) === atOnce) return true;
      const summaries = await runCount(transaction, SUMMARIES, [ids]);
      const messages = await runCount(transaction, MESSAGES, [ids, atOnce]);
      await transaction.query({ text: LESS_MESSAGES, values: [ids, messages, messages < atOnce] });
      await transaction.query({ text: COUNT, values: [id, messages, summaries, 0] });
      return true;
    });

  const purgeDocuments = (id: string): Promise<boolean> =>
    database.transaction(async (transaction) => {
      const ids = await nextBatch(transaction, `select id, chunk_count as rows ${DOCUMENTS} and chunk_count > 0`, id);
      if (ids.length === 0) return false;
      const chunks = await runCount(transaction, CHUNKS, [ids, atOnce]);
      await transaction.query({ text: LESS_CHUNKS, values: [ids, chunks, chunks < atOnce] });
      return true;
    });

  const listIds = async (text: string, id: string): Promise<string[]> =>
    (await database.query<{ id: string }>({ text: `select id ${text} ${IN_ORDER}`, values: [id] })).map((row) => row.id);

  return {
    purgeRows: async (id) => (await purgeConversations(id)) || purgeDocuments(id),

    async nextGroups(id) {
      const [erasure] = await database.query<{ owner_key: string }>({ text: "select owner_key from erasures where id = $1", values: [id] });
      if (!erasure) return null;
      const ofOwner = { ownerKey: erasure.owner_key, episodeIds: [] };
      const conversations = await listIds(CONVERSATIONS, id);
      if (conversations.length > 0) return { ids: conversations, entries: { ...ofOwner, groupIds: conversations.map(episodeGroupId) } };
      const documents = await listIds(DOCUMENTS, id);
      return documents.length > 0 ? { ids: documents, entries: { ...ofOwner, groupIds: documents, of: "chunks" } } : null;
    },

    purgeGroups: (id, { ids, entries }, episodes) =>
      queue.transaction(async (transaction, jobs) => {
        const table = entries.of === "chunks" ? "knowledge_documents" : "conversations";
        await transaction.query({ text: `delete from ${table} where id = any($1::uuid[])`, values: [ids] });
        await transaction.query({ text: COUNT, values: [id, 0, 0, entries.of === "chunks" ? 0 : episodes] });
        await addSweepJobs(jobs, entries);
      }),

    async finish(transaction, id) {
      await transaction.query({ text: "select from erasures where id = $1 for update", values: [id] });
      const text = `select exists (select ${CONVERSATIONS}) or exists (select ${DOCUMENTS}) as "isLeft"`;
      if ((await queryRow<{ isLeft: boolean }>(transaction, { text, values: [id] })).isLeft) return false;
      await transaction.query({ text: FORGET_BASE, values: [id] });
      await transaction.query({ text: "update erasures set finished_at = clock_timestamp() where id = $1", values: [id] });
      await transaction.query({ text: PRUNE });
      return true;
    },

    report: (scope, conversationId) =>
      queue.transaction(async (transaction, jobs) => {
        const values = [...scopeKeys(scope), conversationId];
        const find = (text: string): Promise<ErasureRow[]> => transaction.query<ErasureRow>({ text, values });
        const pending = await find(`select ${COLUMNS} from erasures where ${OF_CONVERSATION} and finished_at is null order by id`);
        const done = await find(
          `update erasures set told_at = clock_timestamp() where ${OF_CONVERSATION} and finished_at is not null and told_at is null returning ${COLUMNS}`,
        );
        await jobs.add(pending.map(({ id }) => ({ kind: "erase", id })));
        return sumProgress(pending, done);
      }),

    async find(scope, id) {
      const [row] = await database.query<ErasureRow & { isDone: boolean }>({
        name: "erasure-find",
        text: `select ${COLUMNS}, finished_at is not null as "isDone" from erasures where ${OF_SCOPE} and id = $3`,
        values: [...scopeKeys(scope), id],
      });
      return row ? sumProgress(row.isDone ? [] : [row], row.isDone ? [row] : []) : null;
    },
  };
}
