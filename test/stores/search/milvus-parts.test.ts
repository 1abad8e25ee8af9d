import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { collectionSchema } from "../../../stores/search/milvus/prepare-collection.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { partNames, partOf } from "../../../stores/search/milvus/parted-index.ts";
import { ownerKey } from "../../../stores/search/index-keys.ts";
import type { SearchStore } from "../../../stores/search/search-index.ts";
import { type MilvusServer, startMilvusServer, whyNoMilvus } from "../../servers/milvus-server.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { DIMENSIONS, direction, SAMPLE_ATTRIBUTES, sampleDocument, sampleId } from "./sample-document.ts";

const OWNERS = Array.from({ length: 40 }, (_, number) => ownerKey("acme", `user-${number}`));
const definitionOf = (name: string) => ({ name, dimensions: DIMENSIONS, attributes: SAMPLE_ATTRIBUTES });

function describeParts(): void {
  let server: MilvusServer;
  let store: SearchStore;
  let client: MilvusClient;
  beforeAll(async () => {
    server = await startMilvusServer();
    store = await openMilvusSearchStore({ address: server.address }, { timeoutMs: 30_000 });
    client = new MilvusClient({ address: server.address, logLevel: "error" });
    await client.connectPromise;
  }, 120_000);
  afterAll(async () => {
    await client.closeConnection();
    await store.close();
    await server.remove();
  });

  const collections = async (): Promise<string[]> => (await client.showCollections()).data.map(({ name }) => name).toSorted();

  test("what nobody wrote is not there: searched, counted and erased at once, and nothing is made for it", async () => {
    const index = await store.openIndex(definitionOf("none"));
    for (const owner of OWNERS) {
      const [filter, ids] = [{ ownerKey: owner }, [sampleId(1)]];
      const found = [index.searchWords(filter, "sample", 5), index.searchVectors(filter, direction(0), 5), index.fetch(owner, ids)];
      expect(await Promise.all(found)).toEqual([[], [], []]);
      expect(await Promise.all([index.count(owner), index.removeGroups(owner, ids), index.remove(owner, ids)])).toEqual([0, 0, 0]);
    }
    expect(await index.count()).toBe(0);
    await index.flush();
    expect(await collections()).toEqual(["none_part0"]);
    await store.dropIndex("none");
  }, 120_000);

  test("opening an index prepares the parts that are there, before anybody asks for them, and makes no others", async () => {
    const name = "restarted";
    await (await store.openIndex(definitionOf(name))).upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner })));
    const before = await collections();
    await server.kill();
    await server.start();
    const fresh = await openMilvusSearchStore({ address: server.address }, { timeoutMs: 30_000 });
    const isLoaded = async (): Promise<boolean> => {
      const states = await Promise.all(before.map((collection_name) => client.getLoadState({ collection_name })));
      return states.every(({ state }) => String(state) === "LoadStateLoaded");
    };
    expect(await isLoaded()).toBe(false);
    await fresh.openIndex(definitionOf(name));
    await waitUntil("all parts are loaded", isLoaded);
    expect(await collections()).toEqual(before);
    await fresh.close();
    await store.dropIndex(name);
  }, 120_000);

  test("a part that cannot be prepared is told of at the opening and refused to who needs it; the others serve", async () => {
    const [odd = ""] = OWNERS.filter((owner) => partOf(owner) === 3);
    const [other = ""] = OWNERS.filter((owner) => partOf(owner) === 4);
    await client.createCollection(collectionSchema({ ...definitionOf("odd_part3"), dimensions: DIMENSIONS + 1 }));
    const errors: unknown[] = [];
    const watched = await openMilvusSearchStore({ address: server.address }, { timeoutMs: 30_000, onError: (error) => errors.push(error) });
    const index = await watched.openIndex(definitionOf("odd"));
    await waitUntil("the failure is told", async () => errors.length > 0);
    expect(errors).toEqual([expect.objectContaining({ code: "invalid_configuration" })]);
    await expect(index.upsert([sampleDocument(1, { ownerKey: odd })])).rejects.toMatchObject({ code: "invalid_configuration" });
    await index.upsert([sampleDocument(2, { ownerKey: other })]);
    expect(await index.searchWords({ ownerKey: other }, "sample", 5)).toHaveLength(1);
    await watched.close();
    await store.dropIndex("odd");
  }, 120_000);

  test("forty owners written in one batch are each found by their own, counted together, and dropped together", async () => {
    const index = await store.openIndex(definitionOf("many"));
    await index.upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner, lexicalText: `sample w${number}` })));
    await index.flush();
    for (const [number, owner] of OWNERS.entries()) {
      const [byWords, byVectors] = await Promise.all([
        index.searchWords({ ownerKey: owner }, "sample", 5),
        index.searchVectors({ ownerKey: owner }, direction(0), 5),
      ]);
      expect([byWords, byVectors].map((hits) => hits.map(({ id }) => id))).toEqual([[sampleId(number)], [sampleId(number)]]);
    }
    expect(await index.count()).toBe(OWNERS.length);
    const parts = new Set([0, ...OWNERS.map(partOf)]);
    expect(await collections()).toEqual([...parts].map((part) => partNames("many")[part]).toSorted());
    expect(await store.listIndexes()).toEqual(["many"]);
    await store.dropIndex("many");
    expect(await collections()).toEqual([]);
  }, 120_000);

  test("an index that was made in one piece is refused, not taken for empty, until it is dropped", async () => {
    await client.createCollection(collectionSchema(definitionOf("whole")));
    await expect(store.openIndex(definitionOf("whole"))).rejects.toMatchObject({
      code: "invalid_configuration",
      message: expect.stringContaining("npm run reindex"),
    });
    expect(await store.listIndexes()).toEqual(["whole"]);
    expect(await collections()).toEqual(["whole"]);
    await store.dropIndex("whole");
    expect(await (await store.openIndex(definitionOf("whole"))).count()).toBe(0);
    await store.dropIndex("whole");
  }, 120_000);
}

const missing = await whyNoMilvus();
if (missing) test.skip(`parts of an index on Milvus Lite (skipped: ${missing})`, () => undefined);
else describe("parts of an index on Milvus Lite", describeParts);
