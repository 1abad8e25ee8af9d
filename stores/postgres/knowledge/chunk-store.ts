import { setImmediate as nextRound } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { makeJobQueue, type JobQueue } from "../../jobs/job-queue.ts";
import type { Database, Queryable } from "../database/database.ts";
import { addChunkSweeps, type DocumentPlace, type DocumentStatus } from "./document-store.ts";
import { ERASED_TENANT } from "../conversations/erase-markers.ts";

export interface ChunkToStore {
  position: number;
  heading: string;
  text: string;
}

export interface OwnedDocument {
  tenantId: string;
  documentId: string;
}

export interface DocumentToIngest extends DocumentPlace {
  title: string;
  contentType: string;
  status: DocumentStatus;
  createdAt: Date;
  /** Null once it has been read. */
  bytes: Uint8Array | null;
}

export interface UnindexedChunk extends ChunkToStore {
  id: string;
}

export interface StoredPassage {
  id: string;
  documentId: string;
  title: string;
  heading: string;
  text: string;
  position: number;
}

export interface ChunkStore {
  findDocument(document: OwnedDocument): Promise<DocumentToIngest | null>;
  /** Stores the chunks and drops the source; false when the document is gone or already read. */
  saveChunks(document: OwnedDocument, chunks: readonly ChunkToStore[], headings?: string): Promise<boolean>;
  fail(document: OwnedDocument, reason: string): Promise<void>;
  /** Fails a waiting document, but keeps what there is of it, so that it can be read again. */
  giveUp(transaction: Queryable, document: OwnedDocument, reason: string): Promise<void>;
  listUnindexed(document: OwnedDocument, indexName: string, limit: number): Promise<UnindexedChunk[]>;
  /** False when one is gone. */
  markIndexed(document: OwnedDocument, chunkIds: readonly string[], indexName: string): Promise<boolean>;
  /** Makes a document searchable, and deletes earlier ones of the same external_id. */
  publish(document: OwnedDocument): Promise<void>;
  /** Whether a document needs work; null when it is gone. Locks it. */
  lockAndCheck(transaction: Queryable, document: OwnedDocument): Promise<boolean | null>;
  /** Lists documents of all tenants, by id, after `after`. */
  listDocumentsUnindexed(indexName: string, after: string, limit: number): Promise<OwnedDocument[]>;
  /** Chunks whose document is indexed, in any order. */
  load(place: DocumentPlace, chunkIds: readonly string[]): Promise<StoredPassage[]>;
  /** Lists the passages of an indexed document, in order, after a position. */
  listOf(place: DocumentPlace, documentId: string, after: number, limit: number): Promise<StoredPassage[]>;
}

/** The most bytes of one statement: the embedded database blocks the event loop. */
const SOURCE_PART_BYTES = 1_048_576;
const CHUNKS_AT_A_TIME = 500;

const FIND = `
select tenant_id as "tenantId", prefix, title, content_type as "contentType", status, created_at as "createdAt", octet_length(source) as "sourceBytes"
from knowledge_documents where id = $1 and tenant_id = $2`;

/** Stored uncompressed, so that Postgres reads only this part. */
const SOURCE_PART = `
select encode(substring(source from $3::int for ${SOURCE_PART_BYTES}), 'base64') as part from knowledge_documents where id = $1 and tenant_id = $2`;

const READ =
  "update knowledge_documents set source = null, chunk_count = $3, headings = $4, updated_at = clock_timestamp() where id = $1 and tenant_id = $2 and source is not null returning id";

const ADD_CHUNKS = `
insert into knowledge_chunks (id, document_id, position, heading, content)
select id, $1, position, heading, content from jsonb_to_recordset($2::jsonb) as given (id uuid, position integer, heading text, content text)`;

const UNINDEXED = `
select id, position, heading, content as text from knowledge_chunks
where document_id = (select id from knowledge_documents where id = $1 and tenant_id = $2) and not index_names @> array[$3::text]
order by position limit $4`;

const MARK = `
update knowledge_chunks set index_names = array_append(array_remove(index_names, $4), $4)
from knowledge_documents documents
where documents.id = document_id and documents.id = $1 and tenant_id = $2 and knowledge_chunks.id = any($3)
returning knowledge_chunks.id`;

const REPLACED = `
delete from knowledge_documents
using knowledge_documents newer
where newer.id = $1 and newer.tenant_id = $2 and knowledge_documents.tenant_id = newer.tenant_id and knowledge_documents.prefix = newer.prefix
  and knowledge_documents.external_id = newer.external_id and (knowledge_documents.created_at, knowledge_documents.id) < (newer.created_at, newer.id)
returning knowledge_documents.id, knowledge_documents.tenant_id as "tenantId", knowledge_documents.prefix`;

const LOAD = `
select chunks.id, document_id as "documentId", title, heading, content as text, position
from knowledge_chunks chunks join knowledge_documents documents on documents.id = document_id
where chunks.id = any($3) and tenant_id = $1 and prefix = $2 and status = 'indexed'`;

const LIST = `
select chunks.id, document_id as "documentId", title, heading, content as text, position
from knowledge_documents documents join knowledge_chunks chunks on document_id = documents.id
where documents.id = $3 and tenant_id = $1 and prefix = $2 and status = 'indexed' and position > $4
order by position limit $5`;

const WITH_UNINDEXED = `
select distinct document_id as "documentId", tenant_id as "tenantId" from knowledge_chunks join knowledge_documents documents on documents.id = document_id
where document_id > $2 and tenant_id <> '${ERASED_TENANT}' and not index_names @> array[$1::text] order by document_id limit $3`;

const LOOK = `
select status = 'pending' or status = 'indexed' and exists (
  select from knowledge_chunks join search_indexes on kind = 'episodes' and state = 'current'
  where document_id = knowledge_documents.id and not index_names @> array[search_indexes.name]
) as more
from knowledge_documents where id = $1 and tenant_id = $2 for update of knowledge_documents`;

export function makeChunkStore(database: Database, queue: JobQueue = makeJobQueue(database)): ChunkStore {
  const owned = ({ tenantId, documentId }: OwnedDocument): [string, string] => [documentId, tenantId];

  async function readSource(document: OwnedDocument, sourceBytes: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    for (let start = 0; start < sourceBytes; start += SOURCE_PART_BYTES) {
      const values = [...owned(document), start + 1];
      const [row] = await database.query<{ part: string | null }>({ name: "chunk-source", text: SOURCE_PART, values });
      if (typeof row?.part !== "string") return null;
      parts.push(Buffer.from(row.part, "base64"));
    }
    return Buffer.concat(parts);
  }

  return {
    async findDocument(document) {
      const [row] = await database.query<Omit<DocumentToIngest, "bytes"> & { sourceBytes: number | null }>({
        name: "chunk-document",
        text: FIND,
        values: owned(document),
      });
      if (!row) return null;
      const { sourceBytes, ...found } = row;
      return { ...found, bytes: sourceBytes === null ? null : await readSource(document, sourceBytes) };
    },

    saveChunks: (document, chunks, headings = "") =>
      database.transaction(async (transaction) => {
        const read = await transaction.query({ name: "chunk-read", text: READ, values: [...owned(document), chunks.length, headings] });
        if (read.length === 0) return false;
        const rows = chunks.map(({ position, heading, text }) => ({ id: uuidv7(), position, heading, content: text }));
        for (let start = 0; start < rows.length; start += CHUNKS_AT_A_TIME) {
          const some = JSON.stringify(rows.slice(start, start + CHUNKS_AT_A_TIME));
          await transaction.query({ name: "chunk-add", text: ADD_CHUNKS, values: [document.documentId, some] });
          await nextRound();
        }
        return true;
      }),

    async fail(document, reason) {
      await database.query({
        name: "chunk-fail",
        text: "update knowledge_documents set status = 'failed', error = $3, source = null, updated_at = clock_timestamp() where id = $1 and tenant_id = $2",
        values: [...owned(document), reason],
      });
    },

    async giveUp(transaction, document, reason) {
      await transaction.query({
        name: "chunk-give-up",
        text: "update knowledge_documents set status = 'failed', error = $3, updated_at = clock_timestamp() where id = $1 and tenant_id = $2 and status = 'pending'",
        values: [...owned(document), reason],
      });
    },

    listUnindexed: (document, indexName, limit) =>
      database.query<UnindexedChunk>({ name: "chunk-unindexed", text: UNINDEXED, values: [...owned(document), indexName, limit] }),

    async markIndexed(document, chunkIds, indexName) {
      const rows = await database.query({ name: "chunk-mark", text: MARK, values: [...owned(document), chunkIds, indexName] });
      return rows.length === chunkIds.length;
    },

    publish: (document) =>
      queue.transaction(async (transaction, jobs) => {
        const published = await transaction.query({
          name: "chunk-publish",
          text: "update knowledge_documents set status = 'indexed', updated_at = clock_timestamp() where id = $1 and tenant_id = $2 and status = 'pending' returning id",
          values: owned(document),
        });
        if (published.length === 0) return;
        const replace = { name: "chunk-replace", text: REPLACED, values: owned(document) };
        const replaced = await transaction.query<DocumentPlace & { id: string }>(replace);
        const ids = replaced.map(({ id }) => id);
        if (replaced[0]) await addChunkSweeps(transaction, jobs, replaced[0], ids);
      }),

    async lockAndCheck(transaction, document) {
      const [row] = await transaction.query<{ more: boolean }>({ name: "chunk-look", text: LOOK, values: owned(document) });
      return row ? row.more : null;
    },

    listDocumentsUnindexed: (indexName, after, limit) =>
      database.query<OwnedDocument>({ name: "chunk-documents", text: WITH_UNINDEXED, values: [indexName, after, limit] }),

    async load({ tenantId, prefix }, chunkIds) {
      if (chunkIds.length === 0) return [];
      return database.query<StoredPassage>({ name: "chunk-load", text: LOAD, values: [tenantId, prefix, chunkIds] });
    },

    listOf: ({ tenantId, prefix }, documentId, after, limit) =>
      database.query<StoredPassage>({ name: "chunk-list", text: LIST, values: [tenantId, prefix, documentId, after, limit] }),
  };
}
