import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import { type JobQueue, type JobTransaction, makeJobQueue } from "../../jobs/job-queue.ts";
import { type Page, type PageRequest, toPage } from "../../page.ts";
import { knowledgeKey } from "../../index-keys.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { addMarkersAndSweeps } from "../conversations/erase-markers.ts";
import { isForeignKeyViolation } from "../database/storage-errors.ts";
import { isBeforeCursor, pageValues } from "../database/sql-parts.ts";

/** A knowledge base of a tenant. */
export interface DocumentPlace {
  tenantId: string;
  prefix: string;
}

/** `pending` until it is indexed; `failed` when it cannot be read. */
export type DocumentStatus = "pending" | "indexed" | "failed";

/** A document of a knowledge base, without its content. */
export interface StoredDocument {
  id: string;
  title: string;
  status: DocumentStatus;
  /** 0 until it is read. */
  chunkCount: number;
  error: string | null;
  /** It failed, and its source or its pieces are kept. */
  canReadAgain: boolean;
  externalId: string | null;
  metadata: Record<string, unknown>;
  createdAt: Date;
}

/** A document to add. Once indexed it replaces one of the same `externalId`. */
export interface DocumentToAdd {
  title: string;
  contentType: string;
  bytes: Uint8Array;
  externalId: string | null;
  metadata: Record<string, unknown>;
}

/** Documents as people add, list and delete them. A job reads and indexes them. */
export interface DocumentStore {
  /** Adds its ingest job. Throws AppError `not_found` when there is no such knowledge base. */
  add(place: DocumentPlace, document: DocumentToAdd): Promise<StoredDocument>;
  /** Newest first. */
  list(place: DocumentPlace, page: PageRequest): Promise<Page<StoredDocument>>;
  find(place: DocumentPlace, documentId: string): Promise<StoredDocument | null>;
  /** Adds the job of a failed document that can be read again, and returns it; null when there is none. */
  readAgain(place: DocumentPlace, documentId: string): Promise<StoredDocument | null>;
  remove(place: DocumentPlace, documentId: string): Promise<boolean>;
}

const CAN_READ_AGAIN = "status = 'failed' and (source is not null or chunk_count > 0)";

const COLUMNS = `id, title, status, chunk_count as "chunkCount", error, ${CAN_READ_AGAIN} as "canReadAgain", external_id as "externalId", metadata, created_at as "createdAt"`;

const ADD = `
insert into knowledge_documents (id, tenant_id, prefix, external_id, title, content_type, metadata, status, source, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, clock_timestamp(), clock_timestamp())
returning ${COLUMNS}`;

/** Replaces pending and failed ones at once. */
const SUPERSEDE = `
delete from knowledge_documents
where tenant_id = $1 and prefix = $2 and external_id = $3 and status <> 'indexed' and id <> $4
returning id`;

const READ_AGAIN = `
update knowledge_documents set status = 'pending', error = null, updated_at = clock_timestamp()
where tenant_id = $1 and prefix = $2 and id = $3 and ${CAN_READ_AGAIN} returning id`;

const LIST = `
select ${COLUMNS} from knowledge_documents
where tenant_id = $1 and prefix = $2
  and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

export async function addChunkSweeps(
  transaction: Queryable,
  jobs: JobTransaction,
  { tenantId, prefix }: DocumentPlace,
  documentIds: string[],
): Promise<void> {
  if (documentIds.length === 0) return;
  const entries = { ownerKey: knowledgeKey(tenantId, prefix), groupIds: documentIds, episodeIds: [], of: "chunks" as const };
  await addMarkersAndSweeps(transaction, jobs, entries);
}

/** `queue` takes the jobs that read the documents. */
export function makeDocumentStore(database: Database, queue: JobQueue = makeJobQueue(database)): DocumentStore {
  async function find({ tenantId, prefix }: DocumentPlace, documentId: string): Promise<StoredDocument | null> {
    const [found] = await database.query<StoredDocument>({
      name: "document-find",
      text: `select ${COLUMNS} from knowledge_documents where tenant_id = $1 and prefix = $2 and id = $3`,
      values: [tenantId, prefix, documentId],
    });
    return found ?? null;
  }

  return {
    add: ({ tenantId, prefix }, { title, contentType, bytes, externalId, metadata }) =>
      queue
        .transaction(async (transaction, jobs) => {
          const id = uuidv7();
          const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          const added = [id, tenantId, prefix, externalId, title, contentType, JSON.stringify(metadata), source];
          const document = await queryRow<StoredDocument>(transaction, { name: "document-add", text: ADD, values: added });
          if (externalId !== null) {
            const values = [tenantId, prefix, externalId, id];
            const superseded = await transaction.query<{ id: string }>({ name: "document-supersede", text: SUPERSEDE, values });
            const ids = superseded.map((row) => row.id);
            await addChunkSweeps(transaction, jobs, { tenantId, prefix }, ids);
          }
          await jobs.add([{ kind: "ingest", tenantId, documentId: id }]);
          return document;
        })
        .catch((error: unknown) => {
          if (isForeignKeyViolation(error))
            throw new AppError("not_found", `There is no knowledge base "${prefix}". PUT /api/v1/knowledge/${prefix} makes it.`);
          throw error;
        }),

    async list({ tenantId, prefix }, page) {
      const rows = await database.query<StoredDocument>({
        name: "document-list",
        text: LIST,
        values: [tenantId, prefix, ...pageValues(page)],
      });
      return toPage(rows, page.limit);
    },

    find,

    async readAgain(place, documentId) {
      const values = [place.tenantId, place.prefix, documentId];
      await queue.transaction(async (transaction, jobs) => {
        const [document] = await transaction.query({ name: "document-read-again", text: READ_AGAIN, values });
        if (document) await jobs.add([{ kind: "ingest", tenantId: place.tenantId, documentId }]);
      });
      return find(place, documentId);
    },

    remove: (place, documentId) =>
      queue.transaction(async (transaction, jobs) => {
        const removed = await transaction.query({
          name: "document-remove",
          text: "delete from knowledge_documents where tenant_id = $1 and prefix = $2 and id = $3 returning id",
          values: [place.tenantId, place.prefix, documentId],
        });
        if (removed.length === 0) return false;
        await addChunkSweeps(transaction, jobs, place, [documentId]);
        return true;
      }),
  };
}
