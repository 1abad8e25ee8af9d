import { cacheQuestionVectors, type Embedder } from "../../models/embedder.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import { makeEpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import { type EpisodeIndex, openEpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { SearchStore } from "../../stores/search/search-index.ts";
import { type FindPassages, makeFindPassages } from "../knowledge/find-passages.ts";
import { makeRecall, type Recall } from "../recall/recall-episodes.ts";

/** What episodic memory is made of. The caller opens and closes the database and the store. */
export interface EpisodicMemoryParts {
  /** Migrated: see `migrate`. */
  database: Database;
  /** Where vectors and words are kept. The caller opens and closes it. */
  store: SearchStore;
  embedder: Embedder;
  /** What "yesterday" means in a question. Default UTC. */
  timeZone?: string;
  /** Cosine below which an exchange without a word in common is not recalled. Default: the embedder's own. */
  minSimilarity?: number | undefined;
  /** Older exchanges are not recalled. Default: however old. */
  maxAgeDays?: number | undefined;
  /** Hears why a search was not whole. */
  onError?: (error: unknown) => void;
  /** Hears of the circuits of its searches. Default: nobody. */
  observer?: Observer;
}

/** Earlier exchanges that come back: what the graph recalls with, and what the jobs index into. */
export interface EpisodicMemory {
  /** For `episodes` of the graph. */
  recall: Recall;
  /** For `documents` of the graph. */
  findPassages: FindPassages;
  /** For `makeErase`, and for the jobs. */
  index: EpisodeIndex;
  /** The one that was given, remembering questions: several searches of a turn embed its question once. */
  embedder: Embedder;
  timeZone: string;
}

/** Opens the index in its store. Throws AppError `invalid_configuration` when turns have been indexed with another embedder or store. */
export async function openEpisodicMemory(parts: EpisodicMemoryParts): Promise<EpisodicMemory> {
  const embedder = cacheQuestionVectors(parts.embedder);
  const {
    database,
    store,
    timeZone = "UTC",
    minSimilarity = embedder.minSimilarity ?? 0.5,
    maxAgeDays,
    onError,
    observer = NOOP_OBSERVER,
  } = parts;
  const index = await openEpisodeIndex({ database, store, embedder });
  const recall = makeRecall({
    index,
    episodes: makeEpisodeStore(database),
    embedder,
    timeZone,
    minSimilarity,
    maxAgeDays,
    observer,
    ...(onError ? { onError } : {}),
  });
  const findPassages = makeFindPassages({
    index: index.chunks,
    chunks: makeChunkStore(database),
    embedder,
    observer,
    ...(onError ? { onError } : {}),
  });
  return { recall, findPassages, index, embedder, timeZone };
}
