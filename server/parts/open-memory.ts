import { setTimeout as sleep } from "node:timers/promises";
import { type EpisodicMemory, openEpisodicMemory } from "../../memory/episodes/open-episodic-memory.ts";
import { type Embedder, observedEmbedder } from "../../models/embedder.ts";
import { type Dialects, makeDialects } from "../../models/wire/dialects.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openMilvusSearchStore } from "../../stores/search/milvus/open-milvus-search-store.ts";
import { dropRetiredIndexes, type DropParts } from "../../stores/search/retired-indexes.ts";
import { findIndexRecord, OLD_NAME_UNUSED_MS } from "../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../stores/search/postgres/open-postgres-search-store.ts";
import { observedSearchStore, type SearchStore } from "../../stores/search/contract/search-index.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import { makeErase } from "../../memory/erase/erase.ts";
import { DEFAULT_SECTIONS } from "../../memory/core/tool-schemas.ts";
import type { LayerJobKind } from "../../stores/jobs/job.ts";
import type { Layer } from "../../turn/state.ts";
import type { Config } from "../settings/config.ts";
import { embeddingModels, openEmbedder, openReranker } from "./open-models.ts";

const OPENING = "opening the search index";
const DROPPING = "dropping an old search index";

/** For the statement that drops an old index. */
const DROP_GRACE_MS = 1_000;

/** Takes the dimensions from the index when the embedder's server is unreachable. */
async function openKnownEmbedder(config: Config, database: Database, dialects: Dialects): Promise<Embedder> {
  try {
    return await openEmbedder(config, { dialects });
  } catch (error) {
    const record = await findIndexRecord(database, "current");
    if (!record) throw error;
    const embedder = await openEmbedder(config, { dialects, knownDimensions: record.dimensions });
    if (embedder.name !== record.embedder) throw error;
    return embedder;
  }
}

type OnError = (error: unknown, work: string) => void;

/** `onError`: an index could not be opened in advance. */
export async function openSearchStore(config: Config, database: Database, onError?: OnError): Promise<SearchStore> {
  const { MILVUS_ADDRESS: address, MILVUS_TOKEN: token, MILVUS_DATABASE: milvusDatabase } = config;
  if (address === undefined) return openPostgresSearchStore(database);
  const options = {
    timeoutMs: config.MEMORY_READ_TIMEOUT_MS,
    ...(onError ? { onError: (error: unknown) => onError(error, OPENING) } : {}),
  };
  return openMilvusSearchStore(database, { address, token, database: milvusDatabase }, options);
}

/** Runs before the first turn, which would not wait long. Failures are tried again when needed. */
async function openInAdvance({ index }: EpisodicMemory): Promise<void> {
  const name = await index.name();
  for (const each of [index, index.chunks]) await each.open(name);
}

/** Drops indexes of an interrupted rebuild, also those in use at first. Failures are tried again at the next start. */
async function dropRetired(parts: DropParts, onError: OnError): Promise<void> {
  let left = await dropRetiredIndexes(parts);
  if (left.some(({ isInUse }) => isInUse)) {
    await sleep(OLD_NAME_UNUSED_MS, undefined, { signal: parts.signal, ref: false });
    left = await dropRetiredIndexes(parts);
  }
  for (const { why } of left) if (why.code !== "invalid_configuration") onError(why, DROPPING);
}

/** Throws AppError `invalid_configuration` when the database refuses the index, or turns are indexed with another embedder or store. */
export async function openEpisodes(
  config: Config,
  database: Database,
  onError: OnError,
  observer: Observer = NOOP_OBSERVER,
  dialects: Dialects = makeDialects(),
) {
  const embedder = observedEmbedder(await openKnownEmbedder(config, database, dialects), { observer, ...embeddingModels(config) });
  const store = observedSearchStore(await openSearchStore(config, database, onError), observer);
  try {
    const memory = await openEpisodicMemory({
      database,
      store,
      embedder,
      rerank: openReranker(config),
      timeZone: config.TIME_ZONE,
      minSimilarity: config.EPISODE_MIN_SIMILARITY,
      maxAgeDays: config.EPISODE_MAX_AGE_DAYS,
      episodeTypes: config.EPISODE_TYPES,
      onError,
      observer,
    });
    if (store.kind === "milvus") void openInAdvance(memory).catch((error: unknown) => onError(error, OPENING));
    const level = await store.levelOf(await memory.index.name());
    const stopping = new AbortController();
    const { signal } = stopping;
    const dropping = dropRetired({ database, store, signal }, onError).catch((error: unknown) =>
      signal.aborted ? undefined : onError(error, DROPPING),
    );
    return {
      memory,
      store,
      level,
      async close(): Promise<void> {
        stopping.abort();
        await Promise.race([dropping, sleep(DROP_GRACE_MS, undefined, { ref: false })]);
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

export type Memory = Awaited<ReturnType<typeof openMemory>>;

export async function openMemory(config: Config, database: Database, onError: OnError, observer: Observer, dialects: Dialects) {
  const { ENABLE_SUMMARY, ENABLE_CORE_MEMORY, ENABLE_EPISODIC_MEMORY, CORE_MEMORY_SECTIONS = [] } = config;
  const episodes = ENABLE_EPISODIC_MEMORY ? await openEpisodes(config, database, onError, observer, dialects) : null;
  const layers: Readonly<Record<Layer, boolean>> = {
    summary: ENABLE_SUMMARY,
    core_memory: ENABLE_CORE_MEMORY,
    episodic: ENABLE_EPISODIC_MEMORY,
    knowledge: ENABLE_EPISODIC_MEMORY,
  };
  const jobKinds: readonly LayerJobKind[] = [
    ...(ENABLE_SUMMARY ? ["summarise" as const] : []),
    ...(ENABLE_EPISODIC_MEMORY ? ["index_episodes" as const] : []),
    ...(ENABLE_CORE_MEMORY ? ["remember" as const] : []),
  ];
  return {
    /** Null without episodic memory; then documents are not searched either. */
    episodes,
    erase: makeErase(makeEraseStore(database, undefined, undefined, config.KEEP_DECISIONS_DAYS), episodes?.memory.index ?? null),
    /** Configured ones last. */
    sections: [...new Set([...DEFAULT_SECTIONS, ...CORE_MEMORY_SECTIONS])] as readonly string[],
    layers,
    jobKinds,
    close: async (): Promise<void> => episodes?.close(),
  };
}
