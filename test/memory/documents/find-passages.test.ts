import { beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeFindPassages, type FindPassages, type PassageRequest } from "../../../memory/documents/find-passages.ts";
import { makeIngestDocument } from "../../../memory/documents/ingest-document.ts";
import { makeChunkStore } from "../../../stores/postgres/knowledge/chunk-store.ts";
import { makeDocumentStore, type DocumentPlace } from "../../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../../stores/postgres/knowledge/knowledge-base-store.ts";
import { openEpisodeIndex, type ServingIndex } from "../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchHit, SearchIndex } from "../../../stores/search/contract/search-index.ts";
import { useTestEmbedded } from "../../support/databases/databases.ts";
import { makeRecordingEmbedder } from "../../support/samples/recording-embedder.ts";

const ACME = { tenantId: "acme", prefix: "travel" };
const GLOBEX = { tenantId: "globex", prefix: "travel" };
/** Small sections would be joined into one chunk. */
const FILLING = "Whatever is not said here is for the manager to decide. ".repeat(6);
const HOTELS = `# Hotels\n\nThe hotel limit in Lisbon is 140 euros a night. ${FILLING}\n\n# Trains\n\nTrain journeys are first class above four hours. ${FILLING}`;
const PARKING = "# Parking\n\nThe garage under the office opens at seven. Visitors park in the street.";

const away = async (): Promise<never> => Promise.reject(new Error("the leg is away"));

describe("finding passages", () => {
  const database = useTestEmbedded();
  const [chunks, documents] = [makeChunkStore(database), makeDocumentStore(database)];
  const embedder = makeRecordingEmbedder();
  let index: ServingIndex;
  let errors: unknown[];
  beforeAll(async () => {
    index = (await openEpisodeIndex({ database, store: await openPostgresSearchStore(database), embedder })).chunks;
    for (const { tenantId, prefix } of [ACME, GLOBEX, { tenantId: "acme", prefix: "office" }])
      await makeKnowledgeBaseStore(database).put(tenantId, { prefix, description: prefix, keywords: [] });
    await add(ACME, "Handbook", HOTELS);
    await add(ACME, "Garage", PARKING);
  });
  beforeEach(() => {
    errors = [];
    embedder.fail(null);
  });

  /** Adds a document and does the steps of its job up to the last one, or up to publishing it. */
  async function add(place: DocumentPlace, title: string, text: string, { externalId = null as string | null, publish = true } = {}) {
    const { id } = await documents.add(place, { title, contentType: "text/markdown", bytes: Buffer.from(text), externalId, metadata: {} });
    const job = { kind: "ingest" as const, tenantId: place.tenantId, documentId: id };
    const ingest = makeIngestDocument({ chunks, index, embedder });
    const isDone = async (): Promise<boolean> => {
      const document = await chunks.findDocument(job);
      if (publish) return document?.status === "indexed";
      return document?.bytes === null && (await chunks.listUnindexed(job, await index.name(), 1)).length === 0;
    };
    for (let step = 0; step < 10 && !(await isDone()); step++) await ingest.step(job, new AbortController().signal);
    expect(await isDone()).toBe(true);
    return id;
  }

  /** The index, but for these calls. */
  const indexWith = (changed: Partial<SearchIndex>): ServingIndex => ({
    name: () => index.name(),
    open: async (name) => ({ ...(await index.open(name)), ...changed }),
  });
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
    const scores = passages.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expect([degraded, errors]).toEqual([false, []]);
  });

  test("finds no more than asked for, and nothing for an unrelated question", async () => {
    expect((await find("hotel limit, train journeys, garage", { limit: 1 })).passages).toHaveLength(1);
    for (const question of ["qwertz asdf yxcv", ""]) expect((await find(question)).passages).toEqual([]);
  });

  test.each([
    ["keywords", { searchWords: away }, false, 1],
    ["vectors", { searchVectors: away }, false, 1],
    ["the embedder", {}, true, 1],
    ["both legs", { searchWords: away, searchVectors: away }, false, 2],
  ])("finds the rest with %s down, throws nothing, and says that something is missing", async (_name, changed, isEmbedderDown, count) => {
    if (isEmbedderDown) embedder.fail(new Error("the leg is away"));
    const { headings, degraded } = await find("hotel limit Lisbon euros a night", {}, makeFind({ index: indexWith(changed) }));
    expect([headings[0], degraded]).toEqual([count === 1 ? "Handbook: Hotels" : undefined, true]);
    expect(errors).toEqual(Array(count).fill(expect.objectContaining({ message: "the leg is away" })));
  });

  test("does not ask keywords when it searches by vectors alone", async () => {
    const by = makeFind({ index: indexWith({ searchWords: away }) });
    const { headings, degraded } = await find("hotel limit Lisbon euros a night", { by: "vectors" }, by);
    expect([headings[0], degraded, errors]).toEqual(["Handbook: Hotels", false, []]);
    expect((await find("xylophone lessons", { by: "vectors" }, by)).passages).toEqual([]);
  });

  test("finds only documents of one tenant and one base", async () => {
    const question = "What is the hotel limit in Lisbon?";
    expect((await find(question, GLOBEX)).passages).toEqual([]);
    expect((await find(question, { prefix: "office" })).passages).toEqual([]);
    await add(GLOBEX, "Their handbook", HOTELS.replace("140", "90"));
    expect((await find(question, GLOBEX)).passages.map(({ title }) => title)).toEqual(expect.not.arrayContaining(["Handbook"]));
    expect((await find(question)).headings).toEqual(expect.not.arrayContaining([expect.stringContaining("Their")]));
  });

  test("does not show a text whose chunk the index has under another owner", async () => {
    const everywhere = async (): Promise<SearchHit[]> => {
      const chunks = await database.query<{ id: string }>({ text: "select id from knowledge_chunks" });
      const hit = {
        ownerKey: "",
        groupId: "",
        previousId: null,
        createdAt: new Date(),
        attributes: {},
        score: 10,
        script: "other" as const,
      };
      return chunks.map(({ id }) => ({ ...hit, id }));
    };
    const mixed = indexWith({ searchWords: everywhere, searchVectors: everywhere });
    const { passages } = await find("hotel", { limit: 50 }, makeFind({ index: mixed }));
    expect(new Set(passages.map(({ title }) => title))).toEqual(new Set(["Handbook", "Garage"]));
  });

  test("finds a replaced document until the new version is published, and not after, even if the index still has it", async () => {
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

  test("completes a question that points back", async () => {
    const recent = [
      { role: "user", content: "Is there a hotel limit in Lisbon?" },
      { role: "assistant", content: "Yes, the travel rules have a hotel limit for Lisbon." },
    ] as const;
    embedder.questions = [];
    expect((await find("How much is it?", { recent })).headings[0]).toBe("Handbook: Hotels");
    expect(embedder.questions[0]).toMatch(/^How much is it\? .*Lisbon/);
    expect((await find("How much is it?")).passages).toEqual([]);
  });

  test("ranks of two equal passages the one first whose document fits elsewhere, too", async () => {
    const place = { tenantId: "acme", prefix: "office" };
    const section = (heading: string, text: string): string => `# ${heading}\n\n${text} ${FILLING}\n\n`;
    const refunds = section("Refunds", "Refunds of tickets take a week.");
    await add(place, "Rules", refunds + section("Cats", "The cats are black."));
    for (const name of ["Zoo", "Bus", "Park", "Pool"]) await add(place, name, section(name, "There are tickets."));
    const wanted = await add(place, "Rules", refunds + section("Aviary", "Tickets of the aviary are blue."));
    const { passages } = await find("How long do refunds of aviary tickets take?", place);
    expect(passages.find(({ heading }) => heading === "Refunds")?.documentId).toBe(wanted);
  });

  test("ends as degraded when it is cancelled", async () => {
    const signal = AbortSignal.abort(new DOMException("gone", "AbortError"));
    expect(await find("hotel limit", { signal })).toMatchObject({ passages: [], degraded: true });
  });
});
