import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import type { SearchStore } from "../../../stores/search/search-index.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { startMilvusServer, whyNoMilvus, type MilvusServer } from "../../servers/milvus-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

const reason = await whyNoMilvus();
const OWNER = { tenantId: "default", userId: "ada" };

let place: Awaited<ReturnType<typeof createRealDatabase>>;
let milvus: MilvusServer;
let database: Database;
let store: SearchStore;
let service: TestService;
beforeAll(async () => {
  if (reason) return;
  [place, milvus] = await Promise.all([createRealDatabase(), startMilvusServer()]);
  database = await openPostgres(place.url);
  store = await openMilvusSearchStore({ address: milvus.address }, { timeoutMs: 10_000 });
  service = await openTestService({
    DATABASE_URL: place.url,
    MILVUS_ADDRESS: milvus.address,
    ENABLE_EPISODIC_MEMORY: "true",
    ENABLE_CORE_MEMORY: "true",
  });
}, 120_000);
afterAll(async () => {
  if (reason) return;
  await service.close();
  await store.close();
  await database.close();
  await place.drop();
  await milvus.remove();
});

/** Says something and waits until its jobs are done. */
async function say(userId: string, message: string, session: string): Promise<void> {
  const body = { user_id: userId, session_id: session, message };
  const { json: turn } = await postJson<{ conversation_id: string }>(`${service.url}/api/v1/chat`, body);
  const { json } = await postJson<unknown>(`${service.url}/api/v1/conversations/${turn.conversation_id}/settle`, {});
  expect(json).toEqual({ settled: true, pending: 0 });
}

const left = () => findResidualData(database, store, OWNER);
const title = "an erase while Milvus is away is accepted with 202, shows nothing from then on, and is finished by itself when it is back";

(reason ? test.skip : test)(
  reason ? `${title} (skipped: ${reason})` : title,
  async () => {
    await say("grace", "I moved to Porto.", "s");
    await say("ada", "I moved to Lisbon.", "one");
    await say("ada", "I like jazz a lot.", "two");
    expect((await left()).map(({ place: where }) => where)).toContainEqual(expect.stringContaining("episodes_"));

    await milvus.kill();
    const erased = await callApi<unknown>(`${service.url}/api/v1/users/ada`, { method: "DELETE" });
    expect(erased.status).toBe(202);
    expect(erased.json).toMatchObject({ erased: { messages: 4, episodes: 0, core_memory_sections: 2 }, pending: ["episodes"] });
    const core = await callApi<unknown>(`${service.url}/api/v1/users/ada/core-memory`);
    expect(core.json).toEqual({ sections: [] });
    const found = await callApi<unknown>(`${service.url}/api/v1/users/ada/episodes?query=Lisbon`);
    expect(found.json).toMatchObject({ episodes: [] });

    await milvus.start();
    // The client of this test may still be reconnecting.
    const isClear = async () => (await left().catch(() => [null])).length === 0;
    await waitUntil("the job has cleared the index", isClear, 60_000);
    const grace = await callApi<{ episodes: unknown[] }>(`${service.url}/api/v1/users/grace/episodes?query=Porto`);
    expect(grace.json.episodes).toHaveLength(1);
  },
  180_000,
);
