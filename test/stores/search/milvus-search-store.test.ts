import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { ownerKey } from "../../../stores/index-keys.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { partNames, partOf } from "../../../stores/search/milvus/parted-index.ts";
import { collectionSchema } from "../../../stores/search/milvus/prepare-collection.ts";
import type { SearchIndex } from "../../../stores/search/contract/search-index.ts";
import { startMilvusServer, whyNoMilvus } from "../../servers/milvus-server.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { openTestPostgres } from "../../support/databases/databases.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { useOpened } from "../../support/use-opened.ts";
import { succeeds, waitUntil } from "../../support/wait-until.ts";
import { ANNA, definitionOf, DIMENSIONS, direction, sampleDocument, sampleId } from "./sample-document.ts";

const OWNERS = Array.from({ length: 40 }, (_, number) => ownerKey("acme", `user-${number}`));
const PATIENT_MS = 30_000;
const TIMEOUT_MS = 1_000;
const definition = definitionOf("episodes");

const expectUnavailable = (call: Promise<unknown>): Promise<void> =>
  expect(call).rejects.toMatchObject({ code: "index_unavailable", retryable: true });

describeUnless(await whyNoMilvus(), "an index on Milvus Lite", () => {
  const server = useOpened(async () => {
    const milvus = await startMilvusServer();
    return { ...milvus, close: () => milvus.remove() };
  });
  const database = useOpened(openTestPostgres);
  const store = useOpened(() => openMilvusSearchStore(database, { address: server.address }, { timeoutMs: PATIENT_MS }));
  let client: MilvusClient;
  beforeAll(async () => {
    client = new MilvusClient({ address: server.address, logLevel: "error" });
    await client.connectPromise;
  });
  afterAll(() => client.closeConnection());

  /** The connection of `client` is there again, too. */
  async function start(): Promise<void> {
    await server.start();
    await waitUntil("the server answers", () => succeeds(client.showCollections()));
  }
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
  });

  test("opening an index prepares the parts that are there, before anybody asks for them, and makes no others", async () => {
    const name = "restarted";
    await (await store.openIndex(definitionOf(name))).upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner })));
    const before = await collections();
    await server.kill();
    await start();
    const fresh = await openMilvusSearchStore(database, { address: server.address }, { timeoutMs: PATIENT_MS });
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
  });

  test("a part that cannot be prepared is told of at the opening and refused to who needs it; the others serve", async () => {
    const [odd = ""] = OWNERS.filter((owner) => partOf(owner) === 3);
    const [other = ""] = OWNERS.filter((owner) => partOf(owner) === 4);
    await (await store.openIndex(definitionOf("odd"))).count();
    await client.createCollection(collectionSchema({ name: "odd_part3", dimensions: DIMENSIONS + 1 }));
    const errors: unknown[] = [];
    const watched = await openMilvusSearchStore(
      database,
      { address: server.address },
      { timeoutMs: PATIENT_MS, onError: (error) => errors.push(error) },
    );
    const index = await watched.openIndex(definitionOf("odd"));
    await waitUntil("the failure is told", async () => errors.length > 0);
    expect(errors).toEqual([expect.objectContaining({ code: "invalid_configuration" })]);
    await expect(index.upsert([sampleDocument(1, { ownerKey: odd })])).rejects.toMatchObject({ code: "invalid_configuration" });
    await index.upsert([sampleDocument(2, { ownerKey: other })]);
    expect(await index.searchWords({ ownerKey: other }, "sample", 5)).toHaveLength(1);
    await watched.close();
    await store.dropIndex("odd");
  });

  test("forty owners written in one batch are in the parts of each, counted together, and dropped together", async () => {
    const index = await store.openIndex(definitionOf("many"));
    await index.upsert(OWNERS.map((owner, number) => sampleDocument(number, { ownerKey: owner, lexicalText: `sample w${number}` })));
    await index.flush();
    expect(await index.searchWords({ ownerKey: OWNERS[7] ?? "" }, "sample", 5)).toMatchObject([{ id: sampleId(7) }]);
    expect(await index.count()).toBe(OWNERS.length);
    const parts = new Set([0, ...OWNERS.map(partOf)]);
    expect(await collections()).toEqual([...parts].map((part) => partNames("many")[part]).toSorted());
    expect(await store.listIndexes()).toEqual(["many"]);
    await store.dropIndex("many");
    expect(await collections()).toEqual([]);
  });

  test("an index whose words are not in Postgres is refused, not taken for empty: from before they were there, or lost", async () => {
    const refusal = { code: "invalid_configuration", message: expect.stringContaining("npm run reindex") as unknown };
    await client.createCollection(collectionSchema({ name: "whole", dimensions: DIMENSIONS }));
    await expect(store.openIndex(definitionOf("whole"))).rejects.toMatchObject(refusal);
    expect(await store.listIndexes()).toEqual(["whole"]);
    expect(await collections()).toEqual(["whole"]);
    await store.dropIndex("whole");

    const documents = [1, 2].map((number) => sampleDocument(number, { ownerKey: ANNA, groupId: sampleId(900 + number) }));
    await (await store.openIndex(definitionOf("lost"))).upsert(documents);
    await database.query({ text: "drop table search.lost, search.lost_words; drop function search.lost_count" });
    const lost = await store.openIndex(definitionOf("lost"));
    const unavailable = { ...refusal, code: "index_unavailable" };
    await expect(lost.searchWords({ ownerKey: ANNA }, "sample", 5)).rejects.toMatchObject(unavailable);
    await expect(lost.searchVectors({ ownerKey: ANNA }, direction(1), 5)).rejects.toMatchObject(unavailable);
    await expect(lost.upsert(documents)).rejects.toMatchObject(unavailable);
    // What it still has can be counted and erased.
    expect(await lost.count(ANNA)).toBe(2);
    expect(await lost.remove(ANNA, [sampleId(1)])).toBe(1);
    expect(await lost.removeGroups(ANNA, [sampleId(902)])).toBe(1);
    expect(await lost.count()).toBe(0);
    await store.dropIndex("lost");
    await (await store.openIndex(definitionOf("lost"))).upsert(documents);
    await store.dropIndex("lost");
  });

  describe("while the server is away", () => {
    const proxy = useOpened(() => startTcpProxy(`http://${server.address}`));
    const impatient = useOpened(() => openMilvusSearchStore(database, { address: new URL(proxy.url).host }, { timeoutMs: TIMEOUT_MS }));
    let index: SearchIndex;
    const works = (): Promise<boolean> =>
      index.searchVectors({ ownerKey: ANNA }, direction(1), 5).then(
        (hits) => hits.length > 0,
        () => false,
      );

    beforeAll(async () => {
      // The first call may meet a server that is still warming up.
      await waitUntil("the server answers", () => succeeds(impatient.check()));
      index = await impatient.openIndex(definition);
      await index.upsert([1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA })));
      await index.flush();
      await index.upsert([sampleDocument(4, { ownerKey: ANNA })]);
    });

    test("every call but the search by words fails; when the server is back the same index works and has all its data", async () => {
      await server.kill();
      await expectUnavailable(index.searchVectors({ ownerKey: ANNA }, direction(1), 5));
      expect(await index.searchWords({ ownerKey: ANNA }, "sample", 5)).toHaveLength(4);
      await expectUnavailable(index.upsert([sampleDocument(5, { ownerKey: ANNA })]));
      await expectUnavailable(index.remove(ANNA, [sampleId(77)]));
      await expectUnavailable(index.count(ANNA));
      await expectUnavailable(impatient.check());
      await expectUnavailable(impatient.listIndexes());
      await start();
      await waitUntil("the index works", works);
      expect(await index.count(ANNA)).toBe(4);
      expect(await index.searchVectors({ ownerKey: ANNA }, direction(1), 10)).toHaveLength(4);
      await index.upsert([sampleDocument(5, { ownerKey: ANNA })]);
      expect(await index.searchWords({ ownerKey: ANNA }, "sample", 10)).toHaveLength(5);
    });

    test("a restart that no call noticed: the first searches find the collection released, load it, and answer", async () => {
      const searched = await store.openIndex(definition);
      await server.kill();
      await start();
      await waitUntil("the server answers", () => succeeds(store.check()));
      const hits = await Promise.all([1, 2, 3].map((number) => searched.searchVectors({ ownerKey: ANNA }, direction(number), 1)));
      expect(hits.map(([hit]) => hit?.id)).toEqual([1, 2, 3].map(sampleId));
    });

    test("a server that takes connections and does not answer fails within the time limit", async () => {
      await waitUntil("the index works", works);
      proxy.freeze();
      await expectUnavailable(index.searchVectors({ ownerKey: ANNA }, direction(1), 5));
      await expectUnavailable(impatient.openIndex(definitionOf("other")));
      await proxy.restore();
      await waitUntil("the index works", works);
    });

    test("a collection that is lost is made again, empty, by the next call", async () => {
      for (const collection_name of partNames(definition.name)) await client.dropCollection({ collection_name });
      expect(await index.count(ANNA)).toBe(0);
      await index.upsert([sampleDocument(1, { ownerKey: ANNA })]);
      expect(await works()).toBe(true);
    });

    test("a server that is away at the start: the store opens, and so does the index once the server is there", async () => {
      await proxy.refuse();
      const early = await openMilvusSearchStore(
        database,
        { address: new URL(proxy.url).host, token: "root:secret" },
        { timeoutMs: TIMEOUT_MS },
      );
      expect(early.description).not.toContain("secret");
      await expectUnavailable(early.check());
      await expectUnavailable(early.openIndex(definition));
      await proxy.restore();
      let opened: SearchIndex | undefined;
      await waitUntil("the index opens", async () => {
        opened = await early.openIndex(definition).catch(() => undefined);
        return opened !== undefined;
      });
      expect(await opened?.count(ANNA)).toBe(1);
      await early.close();
    });
  });
});
