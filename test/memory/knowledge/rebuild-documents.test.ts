import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openEpisodicMemory, type EpisodicMemory } from "../../../memory/episodes/open-episodic-memory.ts";
import { rebuildIndex } from "../../../memory/episodes/rebuild-index.ts";
import { runMemoryJobs } from "../../../memory/jobs/run-memory-jobs.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeDocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../stores/search/search-index.ts";
import { openTestEmbedded } from "../../support/databases/databases.ts";
import { waitUntil } from "../../support/wait-until.ts";

const PLACE = { tenantId: "tenant", prefix: "travel" };
const SMALL = makeHashedEmbedder({ dimensions: 64 });
const LARGE = makeHashedEmbedder({ dimensions: 128 });

let database: Database;
let store: SearchStore;
let memory: EpisodicMemory;
beforeAll(async () => {
  database = await openTestEmbedded();
  store = await openPostgresSearchStore(database);
  memory = await openEpisodicMemory({ database, store, embedder: SMALL });
});
afterAll(() => database.close());

const titlesFor = async (from: EpisodicMemory, question: string): Promise<string[]> =>
  (await from.findPassages({ ...PLACE, question, by: "hybrid", limit: 5 })).passages.map(({ title }) => title);

test("a rebuild for another embedder takes the documents along, leaves out what was deleted meanwhile, and both indexes change places at once", async () => {
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
  const { signal } = new AbortController();
  const onProgress = (): void => undefined;
  await rebuildIndex({ database, store, embedder: { ...LARGE, embedPassages }, timeZone: "UTC", onProgress, signal });
  const after = await store.listIndexes();
  expect(after).toHaveLength(2);
  expect(after.some((name) => before.includes(name))).toBe(false);

  const rebuilt = await openEpisodicMemory({ database, store, embedder: LARGE });
  expect(await titlesFor(rebuilt, "hotel limit Lisbon")).toEqual(["Hotels"]);
  expect(await titlesFor(rebuilt, "first class trains")).toEqual([]);
  expect(await (await rebuilt.index.chunks.open(await rebuilt.index.name())).count()).toBe(1);
  await expect(openEpisodicMemory({ database, store, embedder: SMALL })).rejects.toMatchObject({ code: "invalid_configuration" });
}, 60_000);
