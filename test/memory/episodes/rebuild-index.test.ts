import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { openEpisodicMemory, type EpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { rebuildIndex, type RebuildParts, type Rebuilt } from "../../../memory/episodes/rebuild-index.ts";
import { runMemoryJobs } from "../../../memory/run-memory-jobs.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { dropRetiredIndexes, retireIndex } from "../../../stores/search/retired-indexes.ts";
import { chunkIndexName, findIndexRecord } from "../../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../stores/search/contract/search-index.ts";
import { openTestEmbedded } from "../../support/databases/databases.ts";
import { exchanges, openTestEpisodicMemory, type TestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { waitUntil } from "../../support/wait-until.ts";

const SMALL = makeHashedEmbedder({ dimensions: 64 });
const LARGE = makeHashedEmbedder({ dimensions: 128 });
const PLAIN = { timeZone: "UTC", onProgress: () => undefined, signal: new AbortController().signal };
/** Turns of each of two conversations: several steps of one of them. */
const TURNS = 150;
const LONGER_THAN_THE_TEST_MS = 3_600_000;

describe("a rebuild of the index", () => {
  let memory: TestEpisodicMemory;
  let store: SearchStore;
  let old: string;
  beforeEach(async () => {
    memory = await openTestEpisodicMemory();
    store = await openPostgresSearchStore(memory.database);
    old = await memory.index.name();
    const said = exchanges(...Array.from({ length: TURNS }, (_, number) => [`Secret ${number} is kept.`, "Good."] as const));
    for (const userId of ["ada", "bob"]) await memory.remember(said, { userId });
    await memory.index.chunks.open(old);
  });
  afterEach(() => memory.close());

  const rebuild = (changed: Partial<RebuildParts> = {}): Promise<Rebuilt> =>
    rebuildIndex({ ...PLAIN, database: memory.database, store, embedder: LARGE, ...changed });

  async function records(): Promise<Record<string, string>> {
    const text = "select name, split_part(state, ' ', 1) as state from search_indexes";
    const rows = await memory.database.query<{ name: string; state: string }>({ text });
    return Object.fromEntries(rows.map(({ name, state }) => [name, state]));
  }

  /** The one index there is: one record, its two tables, and no other is known to be filled. */
  async function theOnly(): Promise<string> {
    const [[name = "", state] = [], ...others] = Object.entries(await records());
    expect({ state, others }).toEqual({ state: "current", others: [] });
    expect(await store.listIndexes()).toEqual([chunkIndexName(name), name]);
    expect(await memory.database.query({ text: "select distinct index_name from episode_cursors" })).toEqual([{ index_name: name }]);
    return name;
  }

  test("that is interrupted while the new index serves still knows the old one, breaks nobody's search, and is completed by the next one", async () => {
    const stopping = new AbortController();
    const interrupted = rebuild({ signal: stopping.signal });
    interrupted.catch(() => undefined);
    await waitUntil("the new one serves", async () => (await records())[old] === "leaving");
    expect(await dropRetiredIndexes({ database: memory.database, store })).toMatchObject([{ name: old, isInUse: true }]);
    stopping.abort();
    await expect(interrupted).rejects.toThrow();
    expect(await (await memory.index.open(old)).count()).toBe(2 * TURNS);

    expect(await rebuild()).toEqual({ episodes: 2 * TURNS, resumed: false, left: [] });
    expect(await theOnly()).not.toBe(old);
  });

  test("waits for other processes only where there may be one that goes on with the old index", async () => {
    for (const isAlone of [true, false]) {
      expect(await rebuild({ isAlone, oldNameUnusedMs: LONGER_THAN_THE_TEST_MS })).toMatchObject({ episodes: 2 * TURNS, left: [] });
      await memory.database.query({ text: "delete from search_indexes" }); // there is none that others could go on with
    }
  });

  test("keeps the record of an old index that it cannot drop, says so, and drops it later from any store", async () => {
    const query: Database["query"] = (statement) =>
      statement.text.startsWith("drop table")
        ? Promise.reject(new AppError("storage_unavailable", "The database cannot be reached at the moment."))
        : memory.database.query(statement);
    const { left } = await rebuild({ database: { ...memory.database, query }, isAlone: true });
    const places = `tables search.${old} and search.${chunkIndexName(old)} in Postgres`;
    expect(left).toMatchObject([{ name: old, places, isInUse: false, why: { code: "index_unavailable" } }]);
    expect((await records())[old]).toBe("leaving");
    expect(await store.listIndexes()).toHaveLength(4);

    expect(await dropRetiredIndexes({ database: memory.database, store: null, isAlone: true })).toEqual([]);
    expect(await theOnly()).not.toBe(old);
  });

  test("leaves out what an erase takes that has marked before the rebuild and commits after it has read", async () => {
    const mark = `insert into erase_markers (id, owner_key, episode_id, erased_at)
      select gen_random_uuid(), $1, id, clock_timestamp() - interval '2 seconds' from messages where role = 'user' order by id limit 1`;
    await memory.database.query({ text: mark, values: [ownerKey("tenant", "ada")] });
    expect(await rebuild({ isAlone: true })).toMatchObject({ episodes: 2 * TURNS - 1 });
  });

  test("flushes each index once, not after each long conversation", async () => {
    const flushed: string[] = [];
    const told: SearchStore = {
      ...store,
      openIndex: async (definition) => {
        const index = await store.openIndex(definition);
        return { ...index, flush: () => index.flush().then(() => void flushed.push(definition.name)) };
      },
    };
    await rebuild({ store: told, isAlone: true });
    const name = await theOnly();
    expect(flushed.toSorted()).toEqual([chunkIndexName(name), name]);
  });

  test("adds up what it has written and needs no index that can count", async () => {
    const count = (): Promise<never> =>
      Promise.reject(new AppError("index_unavailable", "The search index cannot be reached at the moment."));
    const uncountable: SearchStore = { ...store, openIndex: async (definition) => ({ ...(await store.openIndex(definition)), count }) };
    const seen: [done: number, total: number][] = [];
    const onProgress = (done: number, total: number): void => void seen.push([done, total]);
    expect(await rebuild({ store: uncountable, onProgress, isAlone: true })).toEqual({ episodes: 2 * TURNS, resumed: false, left: [] });
    expect(seen).toEqual(seen.map(([done]) => [done, 2 * TURNS]).toSorted(([one = 0], [other = 0]) => one - other));
    expect(seen.length).toBeGreaterThan(4);
    expect(seen.at(-1)).toEqual([2 * TURNS, 2 * TURNS]);
  });

  test("joins another one of the same configuration: both end with one whole index that serves", async () => {
    expect(await Promise.all([rebuild(), rebuild()])).toMatchObject([{ left: [] }, { left: [] }]);
    const name = await theOnly();
    const [row] = await memory.database.query<{ count: number }>({ text: `select count(*)::int as count from search."${name}"` });
    expect(row?.count).toBe(2 * TURNS);
  });

  test("changes nothing and leaves nothing unknown when a rebuild with another configuration has given it up", async () => {
    const embedPassages = async (texts: readonly string[]): Promise<number[][]> => {
      const building = await findIndexRecord(memory.database, "building");
      if (building) await retireIndex(memory.database, building.name, "building");
      return LARGE.embedPassages(texts);
    };
    await expect(rebuild({ embedder: { ...LARGE, embedPassages } })).rejects.toMatchObject({ code: "index_unavailable" });
    const { [old]: state, ...others } = await records();
    expect([state, ...Object.values(others)]).toEqual(["current", "leaving"]);
    expect((await store.listIndexes()).filter((name) => name.startsWith("episodes_")).toSorted()).toEqual(
      [old, ...Object.keys(others)].toSorted(),
    );
  });
});

const PLACE = { tenantId: "tenant", prefix: "travel" };
const titlesFor = async (from: EpisodicMemory, question: string): Promise<string[]> =>
  (await from.findPassages({ ...PLACE, question, by: "hybrid", limit: 5 })).passages.map(({ title }) => title);

test("a rebuild for another embedder takes the documents along, leaves out what was deleted meanwhile, and both indexes change places at once", async () => {
  const database = await openTestEmbedded();
  const store = await openPostgresSearchStore(database);
  const memory = await openEpisodicMemory({ database, store, embedder: SMALL });
  const documents = makeDocumentStore(database);
  await makeKnowledgeBaseStore(database).put(PLACE.tenantId, { prefix: PLACE.prefix, description: "Travel", keywords: [] });
  const jobs = await runMemoryJobs({ database, summaryModel: null, episodicMemory: memory });
  const add = (title: string, text: string) =>
    documents.add(PLACE, { title, contentType: "text/plain", bytes: Buffer.from(text), externalId: null, metadata: {} });
  await add("Hotels", "The limit for a hotel night in Lisbon is 140 euros.");
  const gone = await add("Trains", "First class is allowed on trains of more than three hours.");
  await waitUntil("both are indexed", async () =>
    (await documents.list(PLACE, { limit: 10, after: null })).items.every(({ status }) => status === "indexed"),
  );
  await jobs.stop();
  expect(await titlesFor(memory, "hotel limit Lisbon")).toEqual(["Hotels"]);

  await memory.index.open(await memory.index.name()); // indexes are made at their first use
  const before = await store.listIndexes();
  expect(before.map((name) => name.replace(/_.*/, "")).sort()).toEqual(["chunks", "episodes"]);
  const embedPassages: Embedder["embedPassages"] = async (texts, signal) => {
    await documents.remove(PLACE, gone.id);
    return LARGE.embedPassages(texts, signal);
  };
  await rebuildIndex({ ...PLAIN, database, store, embedder: { ...LARGE, embedPassages }, isAlone: true });
  const after = await store.listIndexes();
  expect(after).toHaveLength(2);
  expect(after.some((name) => before.includes(name))).toBe(false);

  const rebuilt = await openEpisodicMemory({ database, store, embedder: LARGE });
  expect(await titlesFor(rebuilt, "hotel limit Lisbon")).toEqual(["Hotels"]);
  expect(await titlesFor(rebuilt, "first class trains")).toEqual([]);
  expect(await (await rebuilt.index.chunks.open(await rebuilt.index.name())).count()).toBe(1);
  await expect(openEpisodicMemory({ database, store, embedder: SMALL })).rejects.toMatchObject({ code: "invalid_configuration" });
  await database.close();
});
