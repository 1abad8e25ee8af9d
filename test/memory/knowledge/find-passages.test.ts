import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeFindPassages, type FindPassages, type PassageRequest } from "../../../memory/knowledge/find-passages.ts";
import { makeIngestDocument } from "../../../memory/knowledge/ingest-document.ts";
import { makeChunkStore, type ChunkStore } from "../../../stores/postgres/knowledge/chunk-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeDocumentStore, type DocumentPlace, type DocumentStore } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openEpisodeIndex, type ServingIndex } from "../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchIndex } from "../../../stores/search/search-index.ts";
import { openTestEmbedded } from "../../support/databases/databases.ts";
import { makeRecordingEmbedder, type RecordingEmbedder } from "../../support/samples/recording-embedder.ts";

const ACME = { tenantId: "acme", prefix: "travel" };
const GLOBEX = { tenantId: "globex", prefix: "travel" };
/** Small sections would be joined into one chunk. */
const FILLING = "Whatever is not said here is for the manager to decide. ".repeat(6);
const HOTELS = `# Hotels\n\nThe hotel limit in Lisbon is 140 euros a night. ${FILLING}\n\n# Trains\n\nTrain journeys are first class above four hours. ${FILLING}`;
const PARKING = "# Parking\n\nThe garage under the office opens at seven. Visitors park in the street.";

/** An index of which the given calls fail. */
function failing(index: ServingIndex, ...names: (keyof SearchIndex)[]): ServingIndex {
  const fail = async (): Promise<never> => Promise.reject(new Error("the leg is away"));
  const failed = Object.fromEntries(names.map((name) => [name, fail]));
  return { name: () => index.name(), open: async (name) => ({ ...(await index.open(name)), ...failed }) };
}

describe("finding passages", () => {
  let database: Database;
  let index: ServingIndex;
  let chunks: ChunkStore;
  let documents: DocumentStore;
  let embedder: RecordingEmbedder;
  let errors: unknown[];

  beforeAll(async () => {
    database = await openTestEmbedded();
    embedder = makeRecordingEmbedder();
    index = (await openEpisodeIndex({ database, store: await openPostgresSearchStore(database), embedder })).chunks;
    [chunks, documents] = [makeChunkStore(database), makeDocumentStore(database)];
    for (const { tenantId, prefix } of [ACME, GLOBEX, { tenantId: "acme", prefix: "office" }])
      await makeKnowledgeBaseStore(database).put(tenantId, { prefix, description: prefix, keywords: [] });
    await add(ACME, "Handbook", HOTELS);
    await add(ACME, "Garage", PARKING);
  });
  afterAll(() => database.close());
  beforeEach(() => {
    errors = [];
    embedder.fail(null);
  });

  /** Adds a document and does the steps of its job up to the last one, or up to publishing it. */
  async function add(place: DocumentPlace, title: string, text: string, { externalId = null as string | null, publish = true } = {}) {
    const { id } = await documents.add(place, {
      title,
      contentType: "text/markdown",
      bytes: Buffer.from(text),
      externalId,
      metadata: {},
    });
    const ingest = makeIngestDocument({ chunks, index, embedder });
    const isDone = async (): Promise<boolean> => {
      const document = { tenantId: place.tenantId, documentId: id };
      if (publish) return (await chunks.findDocument(document))?.status === "indexed";
      return (
        (await chunks.listUnindexed(document, await index.name(), 1)).length === 0 && (await chunks.findDocument(document))?.bytes === null
      );
    };
    for (let step = 0; step < 10 && !(await isDone()); step++)
      await ingest.step({ kind: "ingest", tenantId: place.tenantId, documentId: id }, new AbortController().signal);
    expect(await isDone()).toBe(true);
    return id;
  }

  const makeFind = (parts: Partial<Parameters<typeof makeFindPassages>[0]> = {}): FindPassages =>
    makeFindPassages({ index, chunks, embedder, onError: (error) => errors.push(error), ...parts });

  async function find(question: string, request: Partial<PassageRequest> = {}, by = makeFind()) {
    const { passages, degraded } = await by({ ...ACME, question, by: "hybrid", limit: 4, ...request });
    return { headings: passages.map(({ title, heading }) => `${title}: ${heading}`), passages, degraded };
  }

  test("finds the section that answers, with its document, best first", async () => {
    const { headings, passages, degraded } = await find("What is the hotel limit in Lisbon?");
    expect(headings[0]).toBe("Handbook: Hotels");
    expect(passages[0]).toMatchObject({ text: expect.stringContaining("is 140 euros a night") as unknown, position: 0 });
    expect(passages.map(({ score }) => score)).toEqual(passages.map(({ score }) => score).toSorted((one, other) => other - one));
    expect([degraded, errors]).toEqual([false, []]);
  });

  test("no more than asked for, and nothing for a question that nothing fits", async () => {
    expect((await find("hotel limit, train journeys, garage", { limit: 1 })).passages).toHaveLength(1);
    expect((await find("qwertz asdf yxcv")).passages).toEqual([]);
    expect((await find("")).passages).toEqual([]);
  });

  test.each([
    ["keywords", ["searchWords"]],
    ["vectors", ["searchVectors"]],
  ] as const)("with %s down the other leg still finds it, and says that it is not all", async (_leg, calls) => {
    const { headings, degraded } = await find("hotel limit Lisbon euros a night", {}, makeFind({ index: failing(index, ...calls) }));
    expect(headings[0]).toBe("Handbook: Hotels");
    expect(degraded).toBe(true);
    expect(errors).toEqual([expect.objectContaining({ message: "the leg is away" })]);
  });

  test("with the embedder down keywords still find it", async () => {
    embedder.fail(new Error("no embedder"));
    const { headings, degraded } = await find("What is the hotel limit in Lisbon?");
    expect([headings[0], degraded, errors.length]).toEqual(["Handbook: Hotels", true, 1]);
  });

  test("with both legs down nothing is found, nothing is thrown, and both reasons are told", async () => {
    const by = makeFind({ index: failing(index, "searchWords", "searchVectors") });
    const { headings, degraded } = await find("What is the hotel limit in Lisbon?", {}, by);
    expect([headings, degraded, errors.length]).toEqual([[], true, 2]);
  });

  test("by vectors alone, keywords are not asked", async () => {
    const by = makeFind({ index: failing(index, "searchWords") });
    const { headings, degraded } = await find("hotel limit Lisbon euros a night", { by: "vectors" }, by);
    expect(headings[0]).toBe("Handbook: Hotels");
    expect([degraded, errors]).toEqual([false, []]);
    expect((await find("xylophone lessons", { by: "vectors" }, by)).passages).toEqual([]);
  });

  test("a base finds its own tenant's documents only, and not those of another base", async () => {
    const question = "What is the hotel limit in Lisbon?";
    expect((await find(question, GLOBEX)).passages).toEqual([]);
    expect((await find(question, { prefix: "office" })).passages).toEqual([]);
    await add(GLOBEX, "Their handbook", HOTELS.replace("140", "90"));
    expect((await find(question, GLOBEX)).passages.map(({ title }) => title)).toEqual(expect.not.arrayContaining(["Handbook"]));
    expect((await find(question)).headings).toEqual(expect.not.arrayContaining([expect.stringContaining("Their")]));
  });

  test("a text whose chunk the index has under another owner is not shown: Postgres decides", async () => {
    const mixed: ServingIndex = {
      name: () => index.name(),
      async open(name) {
        const opened = await index.open(name);
        const everywhere = (search: "searchWords" | "searchVectors") => async () => {
          const ids = await database.query<{ id: string; tenant_id: string }>({
            text: "select c.id, tenant_id from knowledge_chunks c join knowledge_documents d on d.id = document_id",
          });
          const hit = { ownerKey: "", groupId: "", previousId: null, createdAt: new Date(), attributes: {} };
          return ids.map(({ id }) => ({ ...hit, id, score: search === "searchWords" ? 10 : 0.9 }));
        };
        return { ...opened, searchWords: everywhere("searchWords"), searchVectors: everywhere("searchVectors") };
      },
    };
    const { passages } = await find("hotel", { limit: 50 }, makeFind({ index: mixed }));
    expect(new Set(passages.map(({ title }) => title))).toEqual(new Set(["Handbook", "Garage"]));
  });

  test("a replaced document answers until the new version does, and then no more, though the index still has it", async () => {
    const place = { tenantId: "acme", prefix: "office" };
    const rules = (limit: number): string => `# Desks\n\nEach desk costs ${limit} euros a month.`;
    const old = await add(place, "Desks", rules(50), { externalId: "desks" });
    await add(place, "Desks", rules(60), { externalId: "desks", publish: false });
    const question = "What does a desk cost a month in euros?";
    expect((await find(question, place)).passages.map(({ text }) => text)).toEqual(["Each desk costs 50 euros a month."]);
    await add(place, "Desks", rules(70), { externalId: "desks" });
    const { passages } = await find(question, place);
    expect(passages.map(({ text }) => text)).toEqual(["Each desk costs 70 euros a month."]);
    expect(passages.map(({ documentId }) => documentId)).not.toContain(old);
  });

  test("a question that points back is completed by what was said", async () => {
    const recent = [
      { role: "user", content: "Is there a hotel limit in Lisbon?" },
      { role: "assistant", content: "Yes, the travel rules have a hotel limit for Lisbon." },
    ] as const;
    embedder.questions = [];
    expect((await find("How much is it?", { recent })).headings[0]).toBe("Handbook: Hotels");
    expect(embedder.questions[0]).toMatch(/^How much is it\? .*Lisbon/);
    expect((await find("How much is it?")).passages).toEqual([]);
  });

  test("of two passages that fit alike, the one whose document fits elsewhere too comes first", async () => {
    const place = { tenantId: "acme", prefix: "office" };
    const section = (heading: string, text: string): string => `# ${heading}\n\n${text} ${FILLING}\n\n`;
    const refunds = section("Refunds", "Refunds of tickets take a week.");
    await add(place, "Rules", refunds + section("Cats", "The cats are black."));
    for (const name of ["Zoo", "Bus", "Park", "Pool"]) await add(place, name, section(name, "There are tickets."));
    const wanted = await add(place, "Rules", refunds + section("Aviary", "Tickets of the aviary are blue."));
    const { passages } = await find("How long do refunds of aviary tickets take?", place);
    expect(passages.find(({ heading }) => heading === "Refunds")?.documentId).toBe(wanted);
  });

  test("a search that is cancelled ends, as degraded", async () => {
    const signal = AbortSignal.abort(new DOMException("gone", "AbortError"));
    expect(await find("hotel limit", { signal })).toMatchObject({ passages: [], degraded: true });
  });
});
