import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { collectionSchema } from "../../../stores/search/milvus/collection-schema.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { partNames } from "../../../stores/search/milvus/parted-index.ts";
import { ownerKey } from "../../../stores/search/owner-key.ts";
import type { SearchStore } from "../../../stores/search/search-index.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../support/milvus-server.ts";
import { DIMENSIONS, direction, sampleDocument, SAMPLE_ATTRIBUTES, sampleId } from "./sample-document.ts";

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

  test("an index of a few owners has a few collections, and is found and listed with them", async () => {
    const index = await store.openIndex(definitionOf("few"));
    expect(await index.searchWords({ ownerKey: OWNERS[0] ?? "" }, "sample", 5)).toEqual([]);
    await index.upsert([sampleDocument(1, { ownerKey: OWNERS[1] ?? "" })]);
    expect((await collections()).length).toBeLessThanOrEqual(3);
    expect(await store.listIndexes()).toEqual(["few"]);
    const again = await store.openIndex(definitionOf("few"));
    expect(await again.searchWords({ ownerKey: OWNERS[1] ?? "" }, "sample", 5)).toHaveLength(1);
    await store.dropIndex("few");
    expect(await collections()).toEqual([]);
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
    expect(await collections()).toEqual(partNames("many").toSorted());
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
