import { setTimeout as sleep } from "node:timers/promises";
import { NIL } from "uuid";
import { AppError } from "../../errors/app-error.ts";
import type { Embedder } from "../../models/embedder.ts";
import { makeArchiveStore } from "../../stores/postgres/memory/archive-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeChunkStore, type OwnedDocument } from "../../stores/postgres/knowledge/chunk-store.ts";
import { makeEpisodeStore } from "../../stores/postgres/memory/episode-store.ts";
import { dropRetiredIndexes, type RetiredIndex, retireIndex } from "../../stores/search/retired-indexes.ts";
import {
  addIndexRecord,
  findIndexRecord,
  makeIndexOpener,
  matchesIndex,
  OLD_NAME_UNUSED_MS,
} from "../../stores/search/open-episode-index.ts";
import type { SearchIndex, SearchStore } from "../../stores/search/contract/search-index.ts";
import { makeIndexChunks } from "../documents/ingest-document.ts";
import { makeIndexEpisodes } from "./index-episodes.ts";
import type { OwnedConversation } from "../../turn/owner.ts";

export interface RebuildParts {
  database: Database;
  store: SearchStore;
  embedder: Embedder;
  timeZone: string;
  /** No other process uses the database. Default false. */
  isAlone?: boolean;
  /** How long other processes may use the old index, in milliseconds. */
  oldNameUnusedMs?: number;
  /** Gets the number of indexed exchanges and of all. */
  onProgress: (done: number, total: number) => void;
  signal: AbortSignal;
}

export interface Rebuilt {
  episodes: number;
  /** It continued an interrupted rebuild. */
  resumed: boolean;
  /** Old indexes that could not be dropped; the next rebuild tries again. */
  left: RetiredIndex[];
}

const SIDE_BY_SIDE = 4;
/** Exchanges. A flush takes seconds, and the job asks for one after each long conversation. */
const FLUSH_EVERY = 20_000;
const PAGE = 200;

/** An erase marks before it commits: one under way at the start has an earlier time. */
const ERASED_SINCE = `
select owner_key as "ownerKey", array_remove(array_agg(group_id), null) as "groupIds", array_remove(array_agg(episode_id), null) as "episodeIds"
from erase_markers
where erased_at >= (select created_at from search_indexes where name = $1) - interval '1 hour' and (group_id is not null or episode_id is not null)
group by owner_key`;

/** Continues the unfinished index, or replaces one of another embedder or store. */
async function beginBuilding(parts: RebuildParts): Promise<{ name: string; resumed: boolean }> {
  const { database } = parts;
  const building = await findIndexRecord(database, "building");
  if (building && matchesIndex(building, parts)) return { name: building.name, resumed: true };
  if (building) await retireIndex(database, building.name, "building");
  await addIndexRecord(parts, "building");
  const begun = await findIndexRecord(database, "building");
  if (!begun || !matchesIndex(begun, parts)) throw new Error("another reindex with a different configuration began at the same moment");
  return { name: begun.name, resumed: false };
}

/** Makes the new index the current one and retires the old one. */
async function takeOver(database: Database, name: string): Promise<void> {
  await database.transaction(async (transaction) => {
    const text = "select name from search_indexes where name = $1 and state in ('building', 'current') for update";
    const own = await transaction.query({ text, values: [name] });
    if (own.length === 0)
      throw new AppError("index_unavailable", "A reindex with another configuration has begun meanwhile, so this one stopped.");
    const old = await findIndexRecord(transaction, "current");
    if (old?.name === name) return; // another reindex of the same index was quicker
    if (old) await retireIndex(transaction, old.name, "current");
    await transaction.query({ text: "update search_indexes set state = 'current' where name = $1", values: [name] });
  });
}

async function indexAll<Item>(
  listAfter: (after: string) => Promise<Item[]>,
  idOf: (item: Item) => string,
  indexOne: (item: Item) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let after: string = NIL;
  for (;;) {
    signal.throwIfAborted();
    const page = await listAfter(after);
    const last = page.at(-1);
    if (last === undefined) return;
    const waiting = [...page];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await indexOne(next);
    };
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
    after = idOf(last);
  }
}

/** Removes what was erased since the index was begun: an erase sweeps only the current one. */
async function clearErased(database: Database, name: string, indexes: SearchIndex[]): Promise<void> {
  const rows = await database.query<{ ownerKey: string; groupIds: string[]; episodeIds: string[] }>({ text: ERASED_SINCE, values: [name] });
  for (const { ownerKey, groupIds, episodeIds } of rows) {
    for (const index of indexes) {
      await index.removeGroups(ownerKey, groupIds);
      await index.remove(ownerKey, episodeIds);
    }
  }
}

/**
 * Builds a new index from Postgres and puts it in place of the current one, which serves meanwhile. A service of the same configuration
 * uses it within seconds, any other after a restart. It can be interrupted and called again.
 */
export async function rebuildIndex(parts: RebuildParts): Promise<Rebuilt> {
  const { database, store, embedder, timeZone, isAlone = false, oldNameUnusedMs = OLD_NAME_UNUSED_MS, onProgress, signal } = parts;
  const dropLeft = (): Promise<RetiredIndex[]> => dropRetiredIndexes({ database, store, isAlone, signal });
  await dropLeft();
  const episodes = makeEpisodeStore(database);
  const { name, resumed } = await beginBuilding(parts);
  const [opened, openedChunks] = await Promise.all([
    makeIndexOpener(store, embedder.dimensions, "episodes", database)(name),
    makeIndexOpener(store, embedder.dimensions, "chunks", database)(name),
  ]);
  const total = await episodes.countExchanges();
  // Added up: counting a large index is slow and may fail.
  let done = resumed ? await opened.count().catch(() => 0) : 0;
  let flushed = done;
  const showProgress = (): void => onProgress(Math.min(done, total), total);
  const counted: SearchIndex = {
    ...opened,
    async upsert(batch) {
      await opened.upsert(batch);
      done += batch.length;
      showProgress();
    },
    async flush() {
      if (done - flushed < FLUSH_EVERY) return;
      flushed = done;
      await opened.flush();
    },
  };
  const documents = makeChunkStore(database);
  const indexChunks = makeIndexChunks({
    chunks: documents,
    index: { name: async () => name, open: async () => openedChunks },
    embedder,
  });
  const handler = makeIndexEpisodes({
    episodes,
    archive: makeArchiveStore(database),
    index: { name: async () => name, open: async () => counted },
    embedder,
    timeZone,
  });

  const indexConversation = async (conversation: OwnedConversation): Promise<void> => {
    while (await episodes.isUnindexed(conversation, name)) await handler.step({ kind: "index_episodes", ...conversation }, signal);
  };
  const indexDocument = async (owned: OwnedDocument): Promise<void> => {
    const document = await documents.findDocument(owned);
    while (document && (await indexChunks(owned.documentId, document, signal))) signal.throwIfAborted();
  };
  const indexEverything = async (): Promise<void> => {
    const conversationsAfter = (after: string) => episodes.listUnindexed(name, after, PAGE);
    await indexAll(conversationsAfter, ({ conversationId }) => conversationId, indexConversation, signal);
    const documentsAfter = (after: string) => documents.listDocumentsUnindexed(name, after, PAGE);
    await indexAll(documentsAfter, ({ documentId }) => documentId, indexDocument, signal);
  };
  await indexEverything();
  await Promise.all([opened.flush(), openedChunks.flush()]);
  await clearErased(database, name, [opened, openedChunks]);
  await takeOver(database, name);
  // Then index turns that ended meanwhile, or that another process has just put into the old index.
  if ((await dropLeft()).some(({ isInUse }) => isInUse)) await sleep(oldNameUnusedMs, undefined, { signal });
  await indexEverything();
  await clearErased(database, name, [opened, openedChunks]);
  const left = await dropLeft();
  showProgress();
  return { episodes: await opened.count().catch(() => done), resumed, left };
}
