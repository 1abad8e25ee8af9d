import { v7 as uuidv7 } from "uuid";
import { type JobQueue, makeJobQueue } from "../../jobs/job-queue.ts";
import type { KnowledgeBase, KnowledgeCatalog } from "../../knowledge-catalog.ts";
import { knowledgeKey } from "../../index-keys.ts";
import { RetrievalMode } from "../../../turn/state.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { makeTenantLists } from "../database/tenant-lists.ts";
import { addMarkers, ERASE_BATCH_ROWS, ERASED_TENANT, recordErasure } from "../conversations/erase-markers.ts";

/** The knowledge bases of tenants, which turns are routed to and documents belong to. */
export interface KnowledgeBaseStore extends KnowledgeCatalog {
  find(tenantId: string, prefix: string): Promise<KnowledgeBase | null>;
  /** False when it was there. */
  put(tenantId: string, base: Omit<KnowledgeBase, "titles">): Promise<boolean>;
  /** Deletes it with its documents, whose chunks a job purges. Returns the number of documents, or null. */
  remove(tenantId: string, prefix: string): Promise<number | null>;
}

const TITLES = 50;

const COLUMNS = `prefix, description, keywords, worker, instructions, array(
  select case when headings <> '' then title || ': ' || headings else title end from knowledge_documents documents
  where documents.tenant_id = bases.tenant_id and documents.prefix = bases.prefix and status = 'indexed'
  order by created_at desc, id desc limit ${TITLES}
) as titles`;

const PUT = `
insert into knowledge_bases (tenant_id, prefix, description, keywords, worker, instructions, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())
on conflict (tenant_id, prefix) do update
set description = excluded.description, keywords = excluded.keywords, worker = excluded.worker, instructions = excluded.instructions,
  updated_at = clock_timestamp()
returning xmax = 0 as created`;

/** Soft-deleted documents need a base. */
const ERASED_BASE = `
insert into knowledge_bases (tenant_id, prefix, description, created_at, updated_at)
values ('${ERASED_TENANT}', $1::uuid::text, '', clock_timestamp(), clock_timestamp()) on conflict do nothing`;

const SOFT_DELETE = `
update knowledge_documents set tenant_id = '${ERASED_TENANT}', prefix = $3::uuid::text, external_id = null, title = '', metadata = '{}', error = null, source = null, headings = null
where id = any(array(select id from knowledge_documents where tenant_id = $1 and prefix = $2 order by created_at, id limit $4 for update))
returning id`;

interface BaseRow extends Omit<KnowledgeBase, "worker" | "instructions" | "titles"> {
  worker: string | null;
  instructions: string | null;
  titles: string[];
}

/** Ignores a name that is no agent type: names were once unchecked and meant nothing. */
function toBase({ worker: stored, instructions, ...base }: BaseRow): KnowledgeBase {
  const worker = RetrievalMode.safeParse(stored).data;
  return { ...base, ...(worker === undefined ? {} : { worker }), ...(instructions === null ? {} : { instructions }) };
}

/** Also keeps documents from being added. */
async function lockBase(transaction: Queryable, tenantId: string, prefix: string): Promise<boolean> {
  const text = "select from knowledge_bases where tenant_id = $1 and prefix = $2 for update";
  return (await transaction.query({ text, values: [tenantId, prefix] })).length === 1;
}
const REMOVE = "delete from knowledge_bases where tenant_id = $1 and prefix = $2";

/** `queue` takes the purge jobs of deleted bases, `atOnce` documents in one transaction. */
export function makeKnowledgeBaseStore(
  database: Database,
  queue: JobQueue = makeJobQueue(database),
  atOnce = ERASE_BATCH_ROWS,
): KnowledgeBaseStore {
  return {
    list: makeTenantLists<BaseRow, KnowledgeBase>(database, {
      name: "knowledge-list",
      rows: (tenant) => `select ${COLUMNS} from knowledge_bases bases where tenant_id = ${tenant} order by prefix`,
      toItem: toBase,
    }),

    async find(tenantId, prefix) {
      const [row] = await database.query<BaseRow>({
        name: "knowledge-find",
        text: `select ${COLUMNS} from knowledge_bases bases where tenant_id = $1 and prefix = $2`,
        values: [tenantId, prefix],
      });
      return row ? toBase(row) : null;
    },

    async put(tenantId, { prefix, description, keywords, worker, instructions }) {
      const values = [tenantId, prefix, description, keywords, worker ?? null, instructions ?? null];
      return (await queryRow<{ created: boolean }>(database, { name: "knowledge-put", text: PUT, values })).created;
    },

    async remove(tenantId, prefix) {
      const erasure = { id: uuidv7(), tenantId, ownerKey: knowledgeKey(tenantId, prefix), conversationId: null };
      for (let documents = 0; ;) {
        const removed = await queue.transaction(async (transaction, jobs) => {
          if (!(await lockBase(transaction, tenantId, prefix))) return null;
          await transaction.query({ text: ERASED_BASE, values: [erasure.id] });
          const rows = await transaction.query<{ id: string }>({ text: SOFT_DELETE, values: [tenantId, prefix, erasure.id, atOnce] });
          await recordErasure(transaction, jobs, erasure, { messages: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 });
          await addMarkers(transaction, { ownerKey: erasure.ownerKey, groupIds: rows.map(({ id }) => id), episodeIds: [] });
          const isLast = rows.length < atOnce;
          if (isLast) await transaction.query({ text: REMOVE, values: [tenantId, prefix] });
          return { count: rows.length, isLast };
        });
        if (!removed) return null;
        documents += removed.count;
        if (removed.isLast) return documents;
      }
    },
  };
}
