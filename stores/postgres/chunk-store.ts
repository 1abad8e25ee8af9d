import { v7 as uuidv7 } from "uuid";
import { makeJobQueue, type JobQueue } from "../jobs/job-queue.ts";
import type { Database, Queryable } from "./database.ts";
import { addChunkSweeps, type DocumentPlace, type DocumentStatus } from "./document-store.ts";

/** A piece of a document as it was split. */
export interface ChunkToStore {
  /** 0 for the first. */
  position: number;
  /** The headings above it; empty when there are none. */
  heading: string;
  text: string;
}

/** A document that is to be read and indexed. */
export interface DocumentToIngest extends DocumentPlace {
  title: string;
  contentType: string;
  status: DocumentStatus;
  createdAt: Date;
  /** Null when it has been read. */
  bytes: Uint8Array | null;
}

export interface UnindexedChunk extends ChunkToStore {
  id: string;
}

/** A piece of a document that is indexed, as it can stand in a prompt. */
export interface StoredPassage {
  id: string;
  documentId: string;
  title: string;
  heading: string;
  text: string;
  position: number;
}

/** Chunks of documents: written by the job that ingests, read by turns. */
export interface ChunkStore {
  /** Null when the document is gone. */
  findDocument(documentId: string): Promise<DocumentToIngest | null>;
  /** Stores what a document was split into and lets go of its source; false when it is gone or has been read already. */
  saveChunks(documentId: string, chunks: readonly ChunkToStore[]): Promise<boolean>;
  /** Says why a document cannot be read; its source goes. */
  fail(documentId: string, reason: string): Promise<void>;
  /** The next chunks, in order, that an index does not have. */
  listUnindexed(documentId: string, indexName: string, limit: number): Promise<UnindexedChunk[]>;
  /** Says that an index has these; false when one of them is gone. */
  markIndexed(chunkIds: readonly string[], indexName: string): Promise<boolean>;
  /** Lets a document answer from now on, in place of earlier ones of the same external_id, which go. */
  publish(documentId: string): Promise<void>;
  /** Whether something is left to do for a document; null when it is gone. Locks it. */
  lockAndLook(transaction: Queryable, documentId: string): Promise<boolean | null>;
  /** Documents, whoever's they are, with chunks that an index lacks: the next `limit` behind `after`, by id. */
  listDocumentsUnindexed(indexName: string, after: string, limit: number): Promise<string[]>;
  /** Of a knowledge base, those of these chunks whose document is indexed, in any order. */
  load(place: DocumentPlace, chunkIds: readonly string[]): Promise<StoredPassage[]>;
}

const FIND = `
select tenant_id as "tenantId", prefix, title, content_type as "contentType", status, created_at as "createdAt", encode(source, 'base64') as source
from knowledge_documents where id = $1`;

const READ =
  "update knowledge_documents set source = null, chunk_count = $2, updated_at = clock_timestamp() where id = $1 and source is not null returning id";

const ADD_CHUNKS = `
insert into knowledge_chunks (id, document_id, position, heading, content)
select id, $1, position, heading, content from jsonb_to_recordset($2::jsonb) as given (id uuid, position integer, heading text, content text)`;

const UNINDEXED = `
select id, position, heading, content as text from knowledge_chunks
where document_id = $1 and not index_names @> array[$2::text] order by position limit $3`;

const MARK = `
update knowledge_chunks set index_names = array_append(array_remove(index_names, $2), $2) where id = any($1) returning id`;

const REPLACED = `
delete from knowledge_documents
using knowledge_documents newer
where newer.id = $1 and knowledge_documents.tenant_id = newer.tenant_id and knowledge_documents.prefix = newer.prefix
  and knowledge_documents.external_id = newer.external_id and (knowledge_documents.created_at, knowledge_documents.id) < (newer.created_at, newer.id)
returning knowledge_documents.id, knowledge_documents.tenant_id as "tenantId", knowledge_documents.prefix`;

const LOAD = `
select chunks.id, document_id as "documentId", title, heading, content as text, position
from knowledge_chunks chunks join knowledge_documents documents on documents.id = document_id
where chunks.id = any($3) and tenant_id = $1 and prefix = $2 and status = 'indexed'`;

const WITH_UNINDEXED = `
select distinct document_id as id from knowledge_chunks join knowledge_documents documents on documents.id = document_id
where document_id > $2 and not index_names @> array[$1::text] order by document_id limit $3`;

export function makeChunkStore(database: Database, queue: JobQueue = makeJobQueue(database)): ChunkStore {
  return {
    async findDocument(documentId) {
      const [row] = await database.query<Omit<DocumentToIngest, "bytes"> & { source: string | null }>({
        name: "chunk-document",
        text: FIND,
        values: [documentId],
      });
      if (!row) return null;
      const { source, ...document } = row;
      return { ...document, bytes: source === null ? null : Buffer.from(source, "base64") };
    },

    saveChunks: (documentId, chunks) =>
      database.transaction(async (transaction) => {
        const read = await transaction.query({ name: "chunk-read", text: READ, values: [documentId, chunks.length] });
        if (read.length === 0) return false;
        const rows = chunks.map(({ position, heading, text }) => ({ id: uuidv7(), position, heading, content: text }));
        await transaction.query({ name: "chunk-add", text: ADD_CHUNKS, values: [documentId, JSON.stringify(rows)] });
        return true;
      }),

    async fail(documentId, reason) {
      await database.query({
        name: "chunk-fail",
        text: "update knowledge_documents set status = 'failed', error = $2, source = null, updated_at = clock_timestamp() where id = $1",
        values: [documentId, reason],
      });
    },

    listUnindexed: (documentId, indexName, limit) =>
      database.query<UnindexedChunk>({ name: "chunk-unindexed", text: UNINDEXED, values: [documentId, indexName, limit] }),

    async markIndexed(chunkIds, indexName) {
      const rows = await database.query({ name: "chunk-mark", text: MARK, values: [chunkIds, indexName] });
      return rows.length === chunkIds.length;
    },

    publish: (documentId) =>
      queue.transaction(async (transaction, jobs) => {
        const published = await transaction.query({
          name: "chunk-publish",
          text: "update knowledge_documents set status = 'indexed', updated_at = clock_timestamp() where id = $1 and status = 'pending' returning id",
          values: [documentId],
        });
        if (published.length === 0) return;
        const replaced = await transaction.query<DocumentPlace & { id: string }>({
          name: "chunk-replace",
          text: REPLACED,
          values: [documentId],
        });
        const [first] = replaced;
        if (!first) return;
        await addChunkSweeps(
          transaction,
          jobs,
          first,
          replaced.map(({ id }) => id),
        );
      }),

    async lockAndLook(transaction, documentId) {
      const [row] = await transaction.query<{ status: DocumentStatus }>({
        name: "chunk-look",
        text: "select status from knowledge_documents where id = $1 for update",
        values: [documentId],
      });
      return row ? row.status === "pending" : null;
    },

    async listDocumentsUnindexed(indexName, after, limit) {
      const rows = await database.query<{ id: string }>({
        name: "chunk-documents",
        text: WITH_UNINDEXED,
        values: [indexName, after, limit],
      });
      return rows.map(({ id }) => id);
    },

    async load({ tenantId, prefix }, chunkIds) {
      if (chunkIds.length === 0) return [];
      return database.query<StoredPassage>({ name: "chunk-load", text: LOAD, values: [tenantId, prefix, chunkIds] });
    },
  };
}
