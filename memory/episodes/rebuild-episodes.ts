import { setTimeout as sleep } from "node:timers/promises";
import type { Embedder } from "../../models/embedder.ts";
import { makeArchiveStore } from "../../stores/postgres/archive-store.ts";
import type { Database } from "../../stores/postgres/database.ts";
import { makeChunkStore, type OwnedDocument } from "../../stores/postgres/chunk-store.ts";
import { makeEpisodeStore } from "../../stores/postgres/episode-store.ts";
import type { OwnedConversation } from "../../stores/postgres/summary-store.ts";
import {
  addIndexRecord,
  findIndexRecord,
  makeIndexOpener,
  matchesIndex,
  NAME_IS_FRESH_MS,
  chunkIndexName,
  type ServingIndex,
} from "../../stores/search/open-episode-index.ts";
import type { SearchIndex, SearchStore } from "../../stores/search/search-index.ts";
import { makeIndexChunks } from "../knowledge/index-chunks.ts";
import { makeIndexEpisodes } from "./index-episodes.ts";

export interface RebuildParts {
  database: Database;
  store: SearchStore;
  embedder: Embedder;
  timeZone: string;
  /** Turns that are indexed, of how many. */
  onProgress: (done: number, total: number) => void;
  /** Stops it; what is done stays, and the next call takes it up. */
  signal: AbortSignal;
}

export interface Rebuilt {
  episodes: number;
  /** An interrupted rebuild was taken up. */
  resumed: boolean;
}

/** Conversations at work at a time: one waits for the embedder while another is written. */
const SIDE_BY_SIDE = 4;
const PAGE = 200;

const ERASED_SINCE = `
select owner_key as "ownerKey", array_remove(array_agg(group_id), null) as "groupIds", array_remove(array_agg(episode_id), null) as "episodeIds"
from erase_markers
where erased_at >= (select created_at from search_indexes where name = $1) and (group_id is not null or episode_id is not null)
group by owner_key`;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Finds the index in the making, or begins one; one of another embedder or store is given up. */
async function beginBuilding(parts: RebuildParts): Promise<{ name: string; resumed: boolean }> {
  const { database, store } = parts;
  const building = await findIndexRecord(database, "building");
  if (building && matchesIndex(building, parts)) return { name: building.name, resumed: true };
  if (building) {
    if (building.store === store.kind) {
      await Promise.all([building.name, chunkIndexName(building.name)].map((name) => store.dropIndex(name)));
    }
    await forgetIndex(database, building.name);
  }
  await addIndexRecord(parts, "building");
  const begun = await findIndexRecord(database, "building");
  if (!begun || !matchesIndex(begun, parts)) throw new Error("another reindex with a different configuration began at the same moment");
  return { name: begun.name, resumed: false };
}

async function forgetIndex(database: Database, name: string): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query({ text: "delete from episode_cursors where index_name = $1", values: [name] });
    await transaction.query({
      text: "update knowledge_chunks set index_names = array_remove(index_names, $1) where index_names @> array[$1::text]",
      values: [name],
    });
    await transaction.query({
      text: "update archived_memories set index_names = array_remove(index_names, $1) where index_names @> array[$1::text]",
      values: [name],
    });
    await transaction.query({ text: "delete from search_indexes where name = $1", values: [name] });
  });
}

/** Makes the index in the making the one that serves; returns the one that served. */
async function takeOver(database: Database, name: string): Promise<string | null> {
  return database.transaction(async (transaction) => {
    const text = "delete from search_indexes where kind = 'episodes' and state = 'current' returning name";
    const [old] = await transaction.query<{ name: string }>({ text });
    await transaction.query({ text: "update search_indexes set state = 'current' where name = $1", values: [name] });
    return old?.name ?? null;
  });
}

/** Indexes everything of a list that has something missing, several side by side. */
async function indexAll<Item>(
  listAfter: (after: string) => Promise<Item[]>,
  idOf: (item: Item) => string,
  indexOne: (item: Item) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let after = FIRST_ID;
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

/** Takes out of an index in the making what has been erased since it was begun: the indexes that serve are cleared by the erase itself. */
async function clearErased(database: Database, name: string, opened: SearchIndex): Promise<void> {
  const rows = await database.query<{ ownerKey: string; groupIds: string[]; episodeIds: string[] }>({ text: ERASED_SINCE, values: [name] });
  for (const { ownerKey, groupIds, episodeIds } of rows) {
    await opened.removeGroups(ownerKey, groupIds);
    await opened.remove(ownerKey, episodeIds);
  }
}

/**
 * Builds the whole index anew from Postgres, beside the one that serves, and then puts it in its place: the service answers meanwhile, and
 * goes on with the new one within seconds when its configuration is the same, else after its restart. Can be interrupted and called again.
 */
export async function rebuildEpisodes(parts: RebuildParts): Promise<Rebuilt> {
  const { database, store, embedder, timeZone, onProgress, signal } = parts;
  const episodes = makeEpisodeStore(database);
  const { name, resumed } = await beginBuilding(parts);
  const index: ServingIndex = { name: async () => name, open: makeIndexOpener(store, embedder.dimensions) };
  const chunkIndex: ServingIndex = { name: async () => name, open: makeIndexOpener(store, embedder.dimensions, "chunks") };
  const [opened, openedChunks] = await Promise.all([index.open(name), chunkIndex.open(name)]);
  const documents = makeChunkStore(database);
  const indexChunks = makeIndexChunks({ chunks: documents, index: chunkIndex, embedder });
  const handler = makeIndexEpisodes({ episodes, archive: makeArchiveStore(database), index, embedder, timeZone });
  const total = await episodes.countTurns();
  const showProgress = async (): Promise<void> => onProgress(await opened.count(), total);

  const indexConversation = async (conversation: OwnedConversation): Promise<void> => {
    while (await episodes.isUnindexed(conversation, name)) {
      await handler.step({ kind: "index_episodes", ...conversation }, signal);
      await showProgress();
    }
  };
  const indexDocument = async (owned: OwnedDocument): Promise<void> => {
    const document = await documents.findDocument(owned);
    while (document && (await indexChunks(owned.documentId, document, signal))) await showProgress();
  };
  const indexEverything = async (): Promise<void> => {
    await indexAll(
      (after) => episodes.listUnindexed(name, after, PAGE),
      ({ conversationId }) => conversationId,
      indexConversation,
      signal,
    );
    await indexAll(
      (after) => documents.listDocumentsUnindexed(name, after, PAGE),
      ({ documentId }) => documentId,
      indexDocument,
      signal,
    );
  };
  await indexEverything();
  await Promise.all([opened.flush(), openedChunks.flush()]);
  await Promise.all([opened, openedChunks].map((one) => clearErased(database, name, one)));
  const old = await takeOver(database, name);
  // Turns that ended while it was built, or are indexed in the old one by a process that does not know yet.
  await sleep(NAME_IS_FRESH_MS + 1_000, undefined, { signal });
  await indexEverything();
  await Promise.all([opened, openedChunks].map((one) => clearErased(database, name, one)));
  if (old) {
    await forgetIndex(database, old);
    // They may be in another store.
    await Promise.all([old, chunkIndexName(old)].map((one) => store.dropIndex(one).catch(() => undefined)));
  }
  await showProgress();
  return { episodes: await opened.count(), resumed };
}
