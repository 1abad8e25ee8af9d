import { cacheQuestionVectors, type Embedder } from "../../models/embedder.ts";
import type { Rerank } from "../../models/reranker.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import { makeEpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import { type EpisodeIndex, openEpisodeIndex } from "../../stores/search/open-episode-index.ts";
import type { EpisodeType } from "../../turn/state.ts";
import type { SearchStore } from "../../stores/search/contract/search-index.ts";
import { makeArchiveStore } from "../../stores/postgres/memory/archive-store.ts";
import { makeIndexEpisodes } from "./index-episodes.ts";
import { recallLatest } from "./recall-latest.ts";
import { type FindPassages, makeFindPassages } from "../documents/find-passages.ts";
import { makeRecall, type Recall } from "../recall/recall-episodes.ts";

/** The parts of episodic memory. The caller opens and closes database and store. */
export interface EpisodicMemoryParts {
  /** Migrated: see `migrate`. */
  database: Database;
  store: SearchStore;
  embedder: Embedder;
  /** Orders a search's best exchanges again. Default: none does. */
  rerank?: Rerank | undefined;
  /** An IANA name, for "yesterday" in a question. Default UTC. */
  timeZone?: string;
  /** The least cosine that recalls an exchange without a common word. Default: the embedder's own. */
  minSimilarity?: number | undefined;
  /** Older exchanges are not recalled. Default: no limit. */
  maxAgeDays?: number | undefined;
  /** The types that are recalled. Default: all. */
  episodeTypes?: readonly EpisodeType[] | undefined;
  /** Called with the error of each part of a search that fails. */
  onError?: ((error: unknown, work: string) => void) | undefined;
  /** Gets the states of the circuit breakers. */
  observer?: Observer;
}

/** What the graph recalls with and the jobs index into. */
export interface EpisodicMemory {
  recall: Recall;
  findPassages: FindPassages;
  index: EpisodeIndex;
  /** The given embedder with a cache: several searches of a turn embed its question once. */
  embedder: Embedder;
  timeZone: string;
}

/** Throws AppError `invalid_configuration` when turns have been indexed with another embedder or store. */
export async function openEpisodicMemory(parts: EpisodicMemoryParts): Promise<EpisodicMemory> {
  const embedder = cacheQuestionVectors(parts.embedder);
  const { database, store, timeZone = "UTC", onError, observer = NOOP_OBSERVER } = parts;
  const index = await openEpisodeIndex({ database, store, embedder });
  const episodes = makeEpisodeStore(database);
  const indexing = makeIndexEpisodes({ episodes, archive: makeArchiveStore(database), index, embedder, timeZone });
  const recall = recallLatest({
    recall: makeRecall({ ...parts, index, episodes, embedder, timeZone }),
    episodes,
    index: (conversation, signal) => indexing.step({ kind: "index_episodes", ...conversation }, signal),
    onError,
  });
  const findPassages = makeFindPassages({ index: index.chunks, chunks: makeChunkStore(database), embedder, observer, onError });
  return { recall, findPassages, index, embedder, timeZone };
}
