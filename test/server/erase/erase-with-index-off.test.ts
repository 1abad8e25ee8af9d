import { expect, test } from "@jest/globals";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { createDataFolder } from "../../servers/data-folder.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { importedTurns, type ImportedBody } from "../../support/services/service-with-episodes.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface ShownJobs {
  jobs: { kind: string; state: string; count: number }[];
}

test("an erase while episodic memory is switched off is accepted with 202, and finished when it is on again", async () => {
  const { folder, remove } = await createDataFolder();
  const open = (episodic: boolean): Promise<TestService> =>
    openTestService({ DATA_DIR: folder, ENABLE_EPISODIC_MEMORY: String(episodic), EMBEDDING_MODEL: "built-in" });
  /** What is left, looked at while no service has the folder. */
  async function leftBehind(): Promise<string[]> {
    const database = await openEmbeddedPostgres(folder);
    try {
      const left = await findResidualData(database, null, { tenantId: "default", userId: "ada" });
      return left.map(({ place, count }) => `${count} in ${place.replace(/_.*/, "")}`);
    } finally {
      await database.close();
    }
  }
  const sweepsOf = async ({ url }: TestService): Promise<ShownJobs["jobs"]> =>
    (await callApi<ShownJobs>(`${url}/api/v1/jobs`)).json.jobs.filter(({ kind }) => kind === "erase_episodes");

  try {
    let service = await open(true);
    const messages = importedTurns([["I live in Lisbon.", "Nice."]]);
    const imported = await postJson<ImportedBody>(`${service.url}/api/v1/conversations/import`, {
      user_id: "ada",
      session_id: "s",
      messages,
    });
    await callApi(`${service.url}/api/v1/conversations/${imported.json.conversation_id}/settle?timeout_ms=50000`, { method: "POST" });
    await service.close();

    service = await open(false);
    const erased = await callApi<unknown>(`${service.url}/api/v1/users/ada`, { method: "DELETE" });
    expect(erased.status).toBe(202);
    expect(erased.json).toMatchObject({ erased: { messages: 2, episodes: 0 }, pending: ["episodes"] });
    await waitUntil("a job has found no index", async () => (await sweepsOf(service)).some(({ state }) => state === "retrying"), 30_000);
    await service.close();
    expect(await leftBehind()).toEqual(["1 in search.episodes"]);

    service = await open(true);
    const isTried = async (): Promise<boolean> => (await sweepsOf(service)).every(({ state, count }) => state === "waiting" && count === 1);
    await waitUntil("the first of the two jobs is done", isTried, 30_000);
    await service.close();
    expect(await leftBehind()).toEqual([]);
  } finally {
    await remove();
  }
}, 120_000);
