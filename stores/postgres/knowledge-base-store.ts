import { makeJobQueue, type JobQueue } from "../jobs/job-queue.ts";
import type { KnowledgeBase, KnowledgeCatalog } from "../knowledge-catalog.ts";
import type { Database } from "./database.ts";
import { addChunkSweeps } from "./document-store.ts";

/** The knowledge bases of tenants, which turns are routed to and documents belong to. */
export interface KnowledgeBaseStore extends KnowledgeCatalog {
  /** Null when there is none. */
  find(tenantId: string, prefix: string): Promise<KnowledgeBase | null>;
  /** Creates or changes it; false when it was there. */
  put(tenantId: string, base: Omit<KnowledgeBase, "titles">): Promise<boolean>;
  /** Deletes it with its documents; null when there is none, else the ids of the documents. */
  remove(tenantId: string, prefix: string): Promise<string[] | null>;
}

/** Titles of documents by which a question finds its knowledge base, of the newest documents. */
const TITLES = 50;

const COLUMNS = `prefix, description, keywords, worker, array(
  select title from knowledge_documents documents
  where documents.tenant_id = bases.tenant_id and documents.prefix = bases.prefix and status = 'indexed'
  order by created_at desc, id desc limit ${TITLES}
) as titles`;

const PUT = `
insert into knowledge_bases (tenant_id, prefix, description, keywords, worker, created_at, updated_at)
values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp())
on conflict (tenant_id, prefix) do update
set description = excluded.description, keywords = excluded.keywords, worker = excluded.worker, updated_at = clock_timestamp()
returning xmax = 0 as created`;

interface BaseRow extends Omit<KnowledgeBase, "worker" | "titles"> {
  worker: string | null;
  titles: string[];
}

function toBase({ worker, ...base }: BaseRow): KnowledgeBase {
  return { ...base, ...(worker === null ? {} : { worker }) };
}

/** The knowledge bases of a database; `queue` takes the jobs that clear the index of a deleted one. */
export function makeKnowledgeBaseStore(database: Database, queue: JobQueue = makeJobQueue(database)): KnowledgeBaseStore {
  return {
    async list(tenantId) {
      const rows = await database.query<BaseRow>({
        name: "knowledge-list",
        text: `select ${COLUMNS} from knowledge_bases bases where tenant_id = $1 order by prefix`,
        values: [tenantId],
      });
      return rows.map(toBase);
    },

    async find(tenantId, prefix) {
      const [row] = await database.query<BaseRow>({
        name: "knowledge-find",
        text: `select ${COLUMNS} from knowledge_bases bases where tenant_id = $1 and prefix = $2`,
        values: [tenantId, prefix],
      });
      return row ? toBase(row) : null;
    },

    async put(tenantId, { prefix, description, keywords, worker }) {
      const [row] = await database.query<{ created: boolean }>({
        name: "knowledge-put",
        text: PUT,
        values: [tenantId, prefix, description, keywords, worker ?? null],
      });
      return row?.created ?? false;
    },

    remove: (tenantId, prefix) =>
      queue.transaction(async (transaction, jobs) => {
        const documents = await transaction.query<{ id: string }>({
          text: "delete from knowledge_documents where tenant_id = $1 and prefix = $2 returning id",
          values: [tenantId, prefix],
        });
        const removed = await transaction.query({
          text: "delete from knowledge_bases where tenant_id = $1 and prefix = $2 returning prefix",
          values: [tenantId, prefix],
        });
        if (removed.length === 0) return null;
        const ids = documents.map(({ id }) => id);
        await addChunkSweeps(transaction, jobs, { tenantId, prefix }, ids);
        return ids;
      }),
  };
}
