import { bulkhead } from "cockatiel";
import { AppError } from "../../errors/app-error.ts";
import type { IngestJob } from "../../stores/jobs/job.ts";
import type { ChunkStore, DocumentToIngest, UnindexedChunk } from "../../stores/postgres/knowledge/chunk-store.ts";
import { readChunks } from "../parsing/parse-document.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Embedder } from "../../models/embedder.ts";
import { knowledgeKey } from "../../stores/search/index-keys.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchDocument } from "../../stores/search/search-index.ts";
import { mapInSlices } from "../../text/map-in-slices.ts";

interface IndexChunksParts {
  chunks: ChunkStore;
  index: ServingIndex;
  embedder: Pick<Embedder, "embedPassages">;
}

/** Chunks of one step: one request to the embedder and one write to the index. */
const STEP_CHUNKS = 64;

/** What is embedded of a chunk, and searched for words: it means little without what it is under. */
function chunkText({ title }: { title: string }, { heading, text }: { heading: string; text: string }): string {
  return [title, heading, text].filter(Boolean).join("\n");
}

/**
 * Indexes the next chunks of a document, 64 at a time; false when there were none. When the document goes meanwhile, what was written is
 * taken out again.
 */
export function makeIndexChunks({ chunks, index, embedder }: IndexChunksParts) {
  return async function indexChunks(documentId: string, document: DocumentToIngest, signal: AbortSignal): Promise<boolean> {
    const owned = { tenantId: document.tenantId, documentId };
    const indexName = await index.name();
    const next = await chunks.listUnindexed(owned, indexName, STEP_CHUNKS);
    if (next.length === 0) return false;
    const texts = next.map((chunk) => chunkText(document, chunk));
    const [opened, embeddings] = await Promise.all([index.open(indexName), embedder.embedPassages(texts, signal)]);
    signal.throwIfAborted();
    const ownerKey = knowledgeKey(document.tenantId, document.prefix);
    const toDocument = ({ id, position }: UnindexedChunk, place: number): SearchDocument => ({
      id,
      ownerKey,
      groupId: documentId,
      previousId: null,
      createdAt: document.createdAt,
      lexicalText: lexicalText(texts[place] ?? ""),
      embedding: embeddings[place] ?? [],
      attributes: { position },
    });
    await opened.upsert(await mapInSlices(next, toDocument));
    const ids = next.map(({ id }) => id);
    if (!(await chunks.markIndexed(owned, ids, indexName))) await opened.removeGroups(ownerKey, [documentId]);
    return true;
  };
}

/** Documents that a process reads at a time: each may take most of a gigabyte and a core. */
const MAX_READING = 2;
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
  const reading = bulkhead(MAX_READING, Number.MAX_SAFE_INTEGER);
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
