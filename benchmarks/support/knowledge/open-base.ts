import { setTimeout as sleep } from "node:timers/promises";
import { openEpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import { makeFindPassages, type FindPassages } from "../../../memory/documents/find-passages.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeChunkStore } from "../../../stores/postgres/knowledge/chunk-store.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { CorpusDocument } from "./read-corpus.ts";
import type { StoredChunk } from "./gold-chunks.ts";
import { withLegs, type Legs } from "../recall/open-set.ts";

export type FilledKnowledgeBase = Awaited<ReturnType<typeof openKnowledgeBase>>;

export const PLACE = { tenantId: "bench", prefix: "packages" };
const POLL_MS = 100;

function rethrow(error: unknown): never {
  throw error;
}

export async function openKnowledgeBase(embedder: Embedder) {
  await using opening = new AsyncDisposableStack();
  const database = await openEmbeddedPostgres(IN_MEMORY);
  opening.defer(() => database.close());
  await migrate(database);
  const store = await openPostgresSearchStore(database);
  const memory = await openEpisodicMemory({ database, store, embedder, onError: rethrow });
  const failures: unknown[] = [];
  const nothingElse = { summaryModel: null, summary: null, coreMemory: null };
  const jobs = await runMemoryJobs({
    database,
    ...nothingElse,
    episodicMemory: memory,
    onRun: ({ error }) => error && failures.push(error),
  });
  opening.defer(() => jobs.stop(1_000));
  await makeKnowledgeBaseStore(database).put(PLACE.tenantId, { prefix: PLACE.prefix, description: "Packages", keywords: [] });
  const [documents, overview] = [makeDocumentStore(database), makeJobOverview(database)];

  async function settle(onProgress: (waiting: number) => void): Promise<void> {
    for (;;) {
      const waiting = (await overview.count(PLACE.tenantId)).reduce((sum, { count }) => sum + count, 0);
      if (failures.length > 0) throw new Error("A job failed.", { cause: failures[0] });
      onProgress(waiting);
      if (waiting === 0) return;
      await sleep(POLL_MS);
    }
  }

  const opened = opening.move();
  return {
    database,
    memory,
    settle,
    find: (legs: Legs): FindPassages =>
      makeFindPassages({
        index: withLegs(memory.index.chunks, legs),
        chunks: makeChunkStore(database),
        // Alone, vectors are judged by their order, not by the floor.
        embedder: legs === "vectors" ? { ...memory.embedder, minSimilarity: -1 } : memory.embedder,
        onError: rethrow,
      }),
    listChunks: () =>
      database.query<StoredChunk>({
        text: `select chunks.id, title, heading, content as text from knowledge_chunks chunks
join knowledge_documents documents on documents.id = document_id where status = 'indexed'`,
      }),
    /** Brings documents in through the service's store and jobs; milliseconds from the first to when the last one answers. */
    async bringIn(wanted: readonly CorpusDocument[], onProgress: (done: number) => void): Promise<number> {
      const began = performance.now();
      for (const { title, bytes } of wanted) {
        await documents.add(PLACE, { title, bytes, contentType: "text/markdown", externalId: null, metadata: {} });
      }
      await settle((waiting) => onProgress(wanted.length - waiting));
      const tookMs = performance.now() - began;
      const [failed] = await database.query<{ title: string; error: string }>({
        text: "select title, error from knowledge_documents where status <> 'indexed'",
      });
      if (failed) throw new Error(`"${failed.title}" is not indexed: ${failed.error}`);
      return tookMs;
    },
    [Symbol.asyncDispose]: (): Promise<void> => opened.disposeAsync(),
  };
}
