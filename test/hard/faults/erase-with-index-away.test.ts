import { expect, test } from "@jest/globals";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { openPostgresAndMilvus } from "../../support/databases/postgres-and-milvus.ts";
import { whyNoMilvus } from "../../servers/milvus-server.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { openTestService } from "../../support/services/service.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

const OWNER = { tenantId: "default", userId: "ada" };

describeUnless(await whyNoMilvus(), "an erase while Milvus is away", () => {
  const servers = useOpened(openPostgresAndMilvus, 120_000);
  const service = useOpened(() => openTestService({ ...servers.environment, ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true" }));
  const left = () => findResidualData(servers.database, servers.store, OWNER);

  /** Says something and waits until its jobs are done. */
  async function say(userId: string, message: string, session: string): Promise<void> {
    const api = conversationApi(service.url);
    const turn = await api.say(userId, message, session);
    expect(await api.settle(turn.conversation_id)).toEqual({ settled: true, pending: 0 });
  }

  test("is accepted with 202, hides everything at once, and finishes by itself when Milvus is back", async () => {
    await say("grace", "I moved to Porto.", "s");
    await say("ada", "I moved to Lisbon.", "one");
    await say("ada", "I like jazz a lot.", "two");
    expect((await left()).map(({ place: where }) => where)).toContainEqual(expect.stringContaining("episodes_"));

    await servers.milvus.kill();
    const erased = await callApi<unknown>(`${service.url}/api/v1/users/ada`, { method: "DELETE" });
    expect(erased.status).toBe(202);
    expect(erased.json).toMatchObject({ erased: { messages: 4, episodes: 0, core_memory_sections: 2 }, pending: ["episodes"] });
    expect((await callApi<unknown>(`${service.url}/api/v1/users/ada/core-memory`)).json).toEqual({ sections: [] });
    const found = await callApi<unknown>(`${service.url}/api/v1/users/ada/episodes?query=Lisbon`);
    expect(found.json).toMatchObject({ episodes: [] });

    await servers.milvus.start();
    // The client of this test may still be reconnecting.
    const isClear = async () => (await left().catch(() => [null])).length === 0;
    await waitUntil("the job has cleared the index", isClear);
    const grace = await callApi<{ episodes: unknown[] }>(`${service.url}/api/v1/users/grace/episodes?query=Porto`);
    expect(grace.json.episodes).toHaveLength(1);
  });
});
