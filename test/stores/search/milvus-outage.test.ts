import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { ownerKey } from "../../../stores/search/index-keys.ts";
import type { SearchIndex, SearchStore } from "../../../stores/search/search-index.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../servers/milvus-server.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { DIMENSIONS, direction, sampleDocument, SAMPLE_ATTRIBUTES, sampleId } from "./sample-document.ts";

const ANNA = ownerKey("acme", "anna");
const TIMEOUT_MS = 1_000;
/** The time limit, one more attempt, and what a busy machine adds. */
const FAST_MS = 4_000;
const definition = { name: "episodes", dimensions: DIMENSIONS, attributes: SAMPLE_ATTRIBUTES };

async function expectUnavailable(call: () => Promise<unknown>): Promise<void> {
  const begin = Date.now();
  await expect(call()).rejects.toMatchObject({ code: "index_unavailable", retryable: true });
  expect(Date.now() - begin).toBeLessThan(FAST_MS);
}

function describeOutage(): void {
  let server: MilvusServer;
  let proxy: TcpProxy;
  let store: SearchStore;
  let index: SearchIndex;
  const answers = (): Promise<boolean> =>
    store.check().then(
      () => true,
      () => false,
    );
  const works = (): Promise<boolean> =>
    index.searchWords({ ownerKey: ANNA }, "sample", 5).then(
      (hits) => hits.length > 0,
      () => false,
    );

  beforeAll(async () => {
    server = await startMilvusServer();
    proxy = await startTcpProxy(`http://${server.address}`);
    store = await openMilvusSearchStore({ address: new URL(proxy.url).host }, { timeoutMs: TIMEOUT_MS });
    // The first call may meet a server that is still warming up.
    await waitUntil("the server answers", answers);
    index = await store.openIndex(definition);
    await index.upsert([1, 2, 3].map((number) => sampleDocument(number, { ownerKey: ANNA })));
    await index.flush();
    await index.upsert([sampleDocument(4, { ownerKey: ANNA })]);
  }, 120_000);
  afterAll(async () => {
    await store.close();
    await proxy.close();
    await server.remove();
  });

  test("while the server is away every call fails fast; when it is back the same index works and has all its data", async () => {
    await server.kill();
    await expectUnavailable(() => index.searchVectors({ ownerKey: ANNA }, direction(1), 5));
    await expectUnavailable(() => index.searchWords({ ownerKey: ANNA }, "sample", 5));
    await expectUnavailable(() => index.upsert([sampleDocument(5, { ownerKey: ANNA })]));
    await expectUnavailable(() => index.remove(ANNA, [sampleId(1)]));
    await expectUnavailable(() => index.count(ANNA));
    await expectUnavailable(() => store.check());
    await expectUnavailable(() => store.listIndexes());
    await server.start();
    await waitUntil("the index works", works);
    expect(await index.count(ANNA)).toBe(4);
    expect(await index.searchVectors({ ownerKey: ANNA }, direction(1), 10)).toHaveLength(4);
    await index.upsert([sampleDocument(5, { ownerKey: ANNA })]);
    expect(await index.searchWords({ ownerKey: ANNA }, "sample", 10)).toHaveLength(5);
  });

  test("a restart that no call noticed: the first searches find the collection released, load it, and answer", async () => {
    await server.kill();
    await server.start();
    await waitUntil("the server answers", answers);
    const hits = await Promise.all([1, 2, 3].map((number) => index.searchVectors({ ownerKey: ANNA }, direction(number), 1)));
    expect(hits.map(([hit]) => hit?.id)).toEqual([1, 2, 3].map(sampleId));
  });

  test("a server that takes connections and does not answer fails within the time limit", async () => {
    proxy.freeze();
    await expectUnavailable(() => index.searchVectors({ ownerKey: ANNA }, direction(1), 5));
    // No turn waits for this: a server that answers slowly is to be prepared all the same.
    await expect(store.openIndex({ ...definition, name: "other" })).rejects.toMatchObject({ code: "index_unavailable", retryable: true });
    await proxy.restore();
    await waitUntil("the index works", works);
  });

  test("a collection that is lost is made again, empty, by the next call", async () => {
    await store.dropIndex(definition.name);
    expect(await index.count(ANNA)).toBe(0);
    await index.upsert([sampleDocument(1, { ownerKey: ANNA })]);
    expect(await works()).toBe(true);
  });

  test("a server that is away at the start: the store opens, and so does the index once the server is there", async () => {
    await proxy.refuse();
    const early = await openMilvusSearchStore({ address: new URL(proxy.url).host, token: "root:secret" }, { timeoutMs: TIMEOUT_MS });
    expect(early.description).not.toContain("secret");
    await expectUnavailable(() => early.check());
    await expectUnavailable(() => early.openIndex(definition));
    await proxy.restore();
    let opened: SearchIndex | undefined;
    await waitUntil("the index opens", async () => {
      opened = await early.openIndex(definition).catch(() => undefined);
      return opened !== undefined;
    });
    expect(await opened?.count(ANNA)).toBe(1);
    await early.close();
  });
}

const missing = await whyNoMilvus();
if (missing) test.skip(`search index while Milvus is away (skipped: ${missing})`, () => undefined);
else describe("search index while Milvus is away", describeOutage);
