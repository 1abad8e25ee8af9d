import { bulkhead } from "cockatiel";
import { AppError } from "../../errors/app-error.ts";
import type { IngestJob } from "../../stores/jobs/job.ts";
import type { ChunkStore, DocumentToIngest, UnindexedChunk } from "../../stores/postgres/knowledge/chunk-store.ts";
import { type DocumentLimits, HEADING_SEPARATOR } from "./parsing/document.ts";
import { parseDocument } from "./parsing/parse-document.ts";
import type { Chunk } from "./parsing/split-document.ts";
import { indexSwitchedOff } from "../erase/erase-jobs.ts";
import type { JobHandler } from "../jobs/run-jobs.ts";
import type { Embedder } from "../../models/embedder.ts";
import { knowledgeKey } from "../../stores/index-keys.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchDocument } from "../../stores/search/contract/search-index.ts";
import { mapInSlices } from "../../text/map-in-slices.ts";

interface IndexChunksParts {
  chunks: ChunkStore;
  index: ServingIndex;
  embedder: Pick<Embedder, "embedPassages">;
  /** Default DOCUMENT_LIMITS. */
  limits?: Partial<DocumentLimits>;
}

/** Each may take most of a gigabyte and a core. */
const MAX_PARSING = 2;
const MAX_CHUNKS = 20_000;

/**
 * Parses a document into chunks, indexes them, then publishes it. Until then its earlier version is searched. A published document is
 * indexed again where chunks are missing, as after a restore.
 */
export function makeIngestDocument(parts: IndexChunksParts): JobHandler<IngestJob> {
  const indexChunks = makeIndexChunks(parts);
  const parsing = bulkhead(MAX_PARSING, Number.MAX_SAFE_INTEGER);
  return {
    async step({ tenantId, documentId }, signal) {
      const document = await parts.chunks.findDocument({ tenantId, documentId });
      if (!document || document.status === "failed") return;
      if (document.bytes) return parsing.execute(() => storeChunks(parts, documentId, document, signal));
      if (!(await indexChunks(documentId, document, signal))) await parts.chunks.publish({ tenantId, documentId });
    },

    ...endOf(parts.chunks),
  };
}

/** Leaves the job to a process that has an index. */
export function makeIngestWithoutIndex(chunks: EndingChunks): JobHandler<IngestJob> {
  return { step: () => Promise.reject(indexSwitchedOff()), ...endOf(chunks) };
}

type EndingChunks = Pick<ChunkStore, "lockAndCheck" | "giveUp">;

/** A document fails with its job, until somebody has it read again. */
function endOf(chunks: EndingChunks): Required<Pick<JobHandler<IngestJob>, "remaining" | "giveUp">> {
  return {
    async remaining(transaction, job) {
      const more = await chunks.lockAndCheck(transaction, job);
      if (more === null) return "erased";
      return more ? "more" : "nothing";
    },

    giveUp: (transaction, job, { code, message }) =>
      chunks.giveUp(transaction, job, code === "overloaded" ? message : `It was tried for a day. The last time: ${message}`),
  };
}

async function storeChunks(
  { chunks, limits }: IndexChunksParts,
  documentId: string,
  document: DocumentToIngest,
  signal: AbortSignal,
): Promise<void> {
  const { bytes, contentType, title, tenantId } = document;
  if (!bytes) return;
  try {
    const parsed = await parseDocument({ bytes, contentType, title }, signal, limits);
    if (parsed.length === 0) throw new AppError("document_unreadable", "There is no text in this document.");
    if (parsed.length > MAX_CHUNKS)
      throw new AppError("document_unreadable", `This document has more than ${MAX_CHUNKS} pieces of text. Split it.`);
    await chunks.saveChunks({ tenantId, documentId }, parsed, headingsOf(parsed));
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "document_unreadable") throw error;
    await chunks.fail({ tenantId, documentId }, error.message);
  }
}

const HEADING_CHARACTERS = 200;

function headingsOf(chunks: readonly Chunk[]): string {
  const headings = new Set(chunks.flatMap(({ heading }) => heading.split(HEADING_SEPARATOR)).filter((heading) => heading !== ""));
  return [...headings].join("; ").slice(0, HEADING_CHARACTERS).toWellFormed();
}

const STEP_CHUNKS = 64;

/** Indexes the next 64 chunks of a document; false when there are none. Removes them if the document was deleted meanwhile. */
export function makeIndexChunks({ chunks, index, embedder }: IndexChunksParts) {
  return async function indexChunks(documentId: string, document: DocumentToIngest, signal: AbortSignal): Promise<boolean> {
    const owned = { tenantId: document.tenantId, documentId };
    const indexName = await index.name();
    const next = await chunks.listUnindexed(owned, indexName, STEP_CHUNKS);
    if (next.length === 0) return false;
    const texts = next.map(({ heading, text }) => [document.title, heading, text].filter(Boolean).join("\n"));
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
