import type { Embedder } from "../../models/embedder.ts";
import type { ChunkStore, DocumentToIngest, UnindexedChunk } from "../../stores/postgres/knowledge/chunk-store.ts";
import { knowledgeKey } from "../../stores/search/index-keys.ts";
import { lexicalText } from "../../text/lexical-text.ts";
import type { ServingIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchDocument } from "../../stores/search/search-index.ts";
import { mapInSlices } from "../../text/map-in-slices.ts";

export interface IndexChunksParts {
  chunks: ChunkStore;
  index: ServingIndex;
  embedder: Pick<Embedder, "embedPassages">;
}

/** Chunks of one step: one request to the embedder and one write to the index. */
const STEP_CHUNKS = 64;

/** What is embedded of a chunk, and searched for words: it means little without what it is under. */
export function chunkText({ title }: { title: string }, { heading, text }: { heading: string; text: string }): string {
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
