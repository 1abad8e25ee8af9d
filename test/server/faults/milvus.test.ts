import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../support/milvus-server.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { testFaultsOf } from "../../support/test-faults.ts";

await testFaultsOf("milvus");

const reason = await whyNoMilvus();
const title = "an index is prepared on a Milvus that is slower than a search may be";
let milvus: MilvusServer;
let proxy: TcpProxy;
beforeAll(async () => {
  if (reason) return;
  milvus = await startMilvusServer();
  proxy = await startTcpProxy(`http://${milvus.address}`);
}, 60_000);
afterAll(async () => {
  if (reason) return;
  await proxy.close();
  await milvus.remove();
});

(reason ? test.skip : test)(reason ? `${title} (skipped: ${reason})` : title, async () => {
  const store = await openMilvusSearchStore({ address: new URL(proxy.url).host }, { timeoutMs: 300 });
  proxy.delayReplies(600);
  const index = await store.openIndex({ name: "slow", dimensions: 4, attributes: {} });
  expect(index.dimensions).toBe(4);
  await store.close();
});
