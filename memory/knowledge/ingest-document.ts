import { bulkhead } from "cockatiel";
import { AppError } from "../../errors/app-error.ts";
import type { IngestJob } from "../../stores/jobs/job.ts";
import type { ChunkStore, DocumentToIngest } from "../../stores/postgres/knowledge/chunk-store.ts";
import { readChunks } from "../documents/parse-document.ts";
import type { JobHandler } from "../jobs/job-handler.ts";
import { makeIndexChunks, type IndexChunksParts } from "./index-chunks.ts";

/** Documents that a process reads at a time: each may take most of a gigabyte and a core. */
const READ_AT_A_TIME = 2;
/** Chunks of one document, at most: a larger one is better brought in as several. */
const MAX_CHUNKS = 20_000;

/** Reads a document into chunks, or says why it cannot be read. */
async function readDocument(chunks: ChunkStore, documentId: string, document: DocumentToIngest, signal: AbortSignal): Promise<void> {
  const { bytes, contentType, title, tenantId } = document;
  if (!bytes) return;
  try {
    const found = await readChunks({ bytes, contentType, title }, signal);
    if (found.length === 0) throw new AppError("document_unreadable", "There is no text in this document.");
    if (found.length > MAX_CHUNKS)
      throw new AppError("document_unreadable", `This document has more than ${MAX_CHUNKS} pieces of text. Split it.`);
    await chunks.saveChunks({ tenantId, documentId }, found);
  } catch (error) {
    // A document that cannot be read will not be readable a minute later.
    if (!(error instanceof AppError) || error.code !== "document_unreadable") throw error;
    await chunks.fail({ tenantId, documentId }, error.message);
  }
}

/**
 * Brings a document in, step by step: reads it into chunks, indexes these, and lets it answer when all are, in place of earlier versions of
 * it, which answer until that moment. One that answers already is indexed where its chunks are missing: after a restore there is a new index.
 */
export function makeIngestDocument(parts: IndexChunksParts): JobHandler<IngestJob> {
  const indexChunks = makeIndexChunks(parts);
  const reading = bulkhead(READ_AT_A_TIME, Number.MAX_SAFE_INTEGER);
  return {
    async step({ tenantId, documentId }, signal) {
      const document = await parts.chunks.findDocument({ tenantId, documentId });
      if (!document || document.status === "failed") return;
      if (document.bytes) return reading.execute(() => readDocument(parts.chunks, documentId, document, signal));
      if (!(await indexChunks(documentId, document, signal))) await parts.chunks.publish({ tenantId, documentId });
    },

    async remaining(transaction, { tenantId, documentId }) {
      const more = await parts.chunks.lockAndCheck(transaction, { tenantId, documentId });
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },
  };
}
