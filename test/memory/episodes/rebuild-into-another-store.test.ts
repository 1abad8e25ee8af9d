import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { rebuildIndex, type Rebuilt } from "../../../memory/episodes/rebuild-index.ts";
import { dropRetiredIndexes } from "../../../stores/search/retired-indexes.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { chunkIndexName, findIndexRecord, makeIndexOpener } from "../../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../../stores/index-keys.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../stores/search/contract/search-index.ts";
import { exchanges, openTestEpisodicMemory, type TestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../servers/milvus-server.ts";
import { definitionOf, sampleDocument } from "../../stores/search/sample-document.ts";

const OWNER = { tenantId: "tenant", userId: "ada" };

function describeBothWays(): void {
  let server: MilvusServer;
  let milvus: SearchStore;
  let postgres: SearchStore;
  let memory: TestEpisodicMemory;
  beforeAll(async () => {
    [server, memory] = await Promise.all([startMilvusServer(), openTestEpisodicMemory()]);
    milvus = await openMilvusSearchStore(memory.database, { address: server.address }, { timeoutMs: 30_000 });
    postgres = await openPostgresSearchStore(memory.database);
    await memory.remember(exchanges(["I keep bees.", "How nice."], ["I live in Porto.", "Good."]), OWNER);
    await memory.index.chunks.open(await memory.index.name());
    await milvus.openIndex(definitionOf("episodes_of_another_service"));
  });
  afterAll(async () => {
    await milvus.close();
    await memory.close();
    await server.remove();
  });

  const rebuildInto = (store: SearchStore): Promise<Rebuilt> =>
    rebuildIndex({
      database: memory.database,
      store,
      embedder: memory.embedder,
      timeZone: "UTC",
      isAlone: true,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
  const serving = async (): Promise<string> => (await findIndexRecord(memory.database, "current"))?.name ?? "";
  /** Of the user, in indexes, by table or collection. */
  async function held(): Promise<Record<string, number>> {
    const found = await findResidualData(memory.database, milvus, OWNER);
    return Object.fromEntries(found.filter(({ place }) => place.includes("episodes_")).map(({ place, count }) => [place, count]));
  }

  test("out of Postgres leaves no table of vectors there", async () => {
    expect(await rebuildInto(milvus)).toMatchObject({ episodes: 2, left: [] });
    const name = await serving();
    expect(await postgres.listIndexes()).toEqual([chunkIndexName(name), name, "episodes_of_another_service"]);
    expect(await held()).toEqual({ [`search.${name}`]: 2, [`${milvus.description}: ${name}`]: 2 });
  });

  test("out of a Milvus that is not configured any more names what remains there, which the audit sees; it is dropped once that Milvus can be reached", async () => {
    const old = await serving();
    const names = [old, chunkIndexName(old)];
    const stale = await makeIndexOpener(milvus, memory.embedder.dimensions, "episodes", memory.database)(old);
    const { left } = await rebuildInto(postgres);
    expect(left).toMatchObject([{ name: old, why: { code: "invalid_configuration", message: expect.stringContaining("MILVUS_ADDRESS") } }]);
    for (const name of names) expect(left[0]?.places).toContain(`${name}_part0 to ${name}_part15`);
    expect(await held()).toEqual({ [`search.${await serving()}`]: 2, [`${milvus.description}: ${old}`]: 2 });

    expect(await dropRetiredIndexes({ database: memory.database, store: milvus, isAlone: true })).toEqual([]);
    expect(await milvus.listIndexes()).toEqual(["episodes_of_another_service"]);
    expect(await held()).toEqual({ [`search.${await serving()}`]: 2 });

    // A step that was still writing there: Milvus would make what is missing anew.
    const late = sampleDocument(1, {
      ownerKey: ownerKey(OWNER.tenantId, OWNER.userId),
      embedding: await memory.embedder.embedQuestion("bees"),
      attributes: { conversation_id: uuidv7(), answer_id: uuidv7(), episode_type: "context", importance: 0.5 },
    });
    await expect(stale.upsert([late])).rejects.toThrow("does not exist");
    expect(await milvus.listIndexes()).toEqual(["episodes_of_another_service"]);
  });
}

const missing = await whyNoMilvus();
if (missing) test.skip(`a rebuild into another store (skipped: ${missing})`, () => undefined);
else describe("a rebuild into another store", describeBothWays);
