import { setTimeout as sleep } from "node:timers/promises";
import { type EpisodicMemory, openEpisodicMemory } from "../../memory/episodes/open-episodic-memory.ts";
import { type Embedder, observedEmbedder } from "../../models/embedder.ts";
import { makeHashedEmbedder } from "../../models/offline/hashed-embedder.ts";
import { openOpenAIEmbedder } from "../../models/openai-embedder.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openMilvusSearchStore } from "../../stores/search/milvus/open-milvus-search-store.ts";
import { dropRetiredIndexes, type DropParts } from "../../stores/search/retired-indexes.ts";
import { findIndexRecord, OLD_NAME_UNUSED_MS } from "../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../stores/search/search-index.ts";
import { observedSearchStore } from "../../stores/search/watched-search-store.ts";
import type { Config } from "./config.ts";

/** The value of EMBEDDING_MODEL that asks for the built-in embedder also where a model's server is configured. */
const BUILT_IN = "built-in";
const DEFAULT_MODEL = "text-embedding-3-small";

/** How long a stopping process waits for the statement that drops an old index, in milliseconds. */
const DROP_GRACE_MS = 1_000;

/** Episodic memory with the store under it. */
export interface OpenEpisodes {
  memory: EpisodicMemory;
  store: SearchStore;
  close(): Promise<void>;
}

/** Whether embeddings are asked of a server; without one the built-in embedder serves. */
export function usesEmbeddingServer({ EMBEDDING_MODEL, EMBEDDING_BASE_URL, OPENAI_BASE_URL, OPENAI_API_KEY }: Config): boolean {
  return EMBEDDING_MODEL !== BUILT_IN && (EMBEDDING_BASE_URL ?? OPENAI_BASE_URL ?? OPENAI_API_KEY) !== undefined;
}

/** The names of the models that embed passages and questions. */
function embeddingModels(config: Config): { model: string; questionModel: string } {
  if (!usesEmbeddingServer(config)) return { model: BUILT_IN, questionModel: BUILT_IN };
  const model = config.EMBEDDING_MODEL ?? DEFAULT_MODEL;
  return { model, questionModel: config.EMBEDDING_QUERY_MODEL ?? model };
}

/** Throws AppError `embedder_unavailable` when the dimensions have to be asked of a server that is away. */
export async function openEmbedder(config: Config, knownDimensions?: number): Promise<Embedder> {
  if (!usesEmbeddingServer(config)) return makeHashedEmbedder({});
  const { model, questionModel } = embeddingModels(config);
  return openOpenAIEmbedder({
    baseUrl: config.EMBEDDING_BASE_URL ?? config.OPENAI_BASE_URL,
    apiKey: config.EMBEDDING_API_KEY ?? config.OPENAI_API_KEY,
    model,
    questionModel,
    questionPrefix: config.EMBEDDING_QUERY_PREFIX ?? "",
    passagePrefix: config.EMBEDDING_PASSAGE_PREFIX ?? "",
    dimensions: config.EMBEDDING_DIMENSIONS,
    knownDimensions,
    timeoutMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS,
  });
}

/** The dimensions of this embedder are known from what it has indexed: its server may be away at the start. */
async function openKnownEmbedder(config: Config, database: Database): Promise<Embedder> {
  try {
    return await openEmbedder(config);
  } catch (error) {
    const record = await findIndexRecord(database, "current");
    if (!record) throw error;
    const embedder = await openEmbedder(config, record.dimensions);
    if (embedder.name !== record.embedder) throw error;
    return embedder;
  }
}

/** `onError` hears why an index could not be made ready beforehand. */
export async function openSearchStore(config: Config, database: Database, onError?: (error: unknown) => void): Promise<SearchStore> {
  const { MILVUS_ADDRESS: address, MILVUS_TOKEN: token, MILVUS_DATABASE: milvusDatabase } = config;
  if (address === undefined) return openPostgresSearchStore(database);
  const options = { timeoutMs: config.MEMORY_READ_TIMEOUT_MS, ...(onError ? { onError } : {}) };
  return openMilvusSearchStore({ address, token, database: milvusDatabase }, options);
}

/** Opens the indexes in a server before the first turn needs them, which would not wait long. What fails is tried again by who needs it. */
async function openBeforehand({ index }: EpisodicMemory): Promise<void> {
  const name = await index.name();
  for (const each of [index, index.chunks]) await each.open(name);
}

/**
 * Drops what a rebuild that was interrupted, or whose store was away, has left behind; what was left this moment when no process goes on with
 * it any more. The next start tries again what fails. Of an index in a store that is not configured, `npm run reindex` tells.
 */
async function dropLeft(parts: DropParts, onError: (error: unknown) => void): Promise<void> {
  let left = await dropRetiredIndexes(parts);
  if (left.some(({ isInUse }) => isInUse)) {
    await sleep(OLD_NAME_UNUSED_MS, undefined, { signal: parts.signal, ref: false });
    left = await dropRetiredIndexes(parts);
  }
  for (const { why } of left) if (why.code !== "invalid_configuration") onError(why);
}

/**
 * Opens the store and the embedder that the configuration asks for. Throws AppError `invalid_configuration` when the database lacks the
 * extensions, or when turns are indexed with another embedder or store.
 */
export async function openEpisodes(
  config: Config,
  database: Database,
  onError: (error: unknown) => void,
  observer: Observer = NOOP_OBSERVER,
): Promise<OpenEpisodes> {
  const embedder = observedEmbedder(await openKnownEmbedder(config, database), { observer, ...embeddingModels(config) });
  const store = observedSearchStore(await openSearchStore(config, database, onError), observer);
  try {
    const memory = await openEpisodicMemory({
      database,
      store,
      embedder,
      timeZone: config.TIME_ZONE,
      minSimilarity: config.EPISODE_MIN_SIMILARITY,
      maxAgeDays: config.EPISODE_MAX_AGE_DAYS,
      onError,
      observer,
    });
    if (store.kind === "milvus") void openBeforehand(memory).catch(onError);
    const stopping = new AbortController();
    const { signal } = stopping;
    const dropping = dropLeft({ database, store, signal }, onError).catch((error: unknown) =>
      signal.aborted ? undefined : onError(error),
    );
    return {
      memory,
      store,
      async close() {
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
