import { afterEach, expect, test } from "@jest/globals";
import { openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { createDataFolder } from "../../../servers/data-folder.ts";
import { runScript } from "../../../support/run-script.ts";
import { openTestService, type TestService } from "../../../support/services/service.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const releasers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const release of releasers.splice(0).reverse()) await release();
});

const MEMORY = { ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in", MEMORY_READ_TIMEOUT_MS: "10000" };

type Found = { episodes: { id: string; user_message: string }[]; degraded: string[] };

async function find(service: TestService, query: string): Promise<Found> {
  const address = `${service.url}/api/v1/users/ada/episodes?query=${encodeURIComponent(query)}`;
  return (await callApi<Found>(address)).json;
}

async function say(service: TestService, message: string, session = "s"): Promise<{ conversation_id: string; degraded: string[] }> {
  const body = { user_id: "ada", session_id: session, message };
  return (await postJson<{ conversation_id: string; degraded: string[] }>(`${service.url}/api/v1/chat`, body)).json;
}

const settle = (service: TestService, id: string, ms = 30_000) =>
  callApi<{ settled: boolean }>(`${service.url}/api/v1/conversations/${id}/settle?timeout_ms=${ms}`, { method: "POST" });

/** A folder in which a service has indexed an exchange; `change` does something to it afterwards, once no service has it. */
async function prepare(change: (statement: (text: string) => Promise<unknown>, indexName: string) => Promise<unknown>): Promise<string> {
  const { folder, remove } = await createDataFolder();
  releasers.push(remove);
  const service = await openTestService({ DATA_DIR: folder, ...MEMORY });
  await settle(service, (await say(service, "My boat is called Calypso")).conversation_id);
  expect((await find(service, "Calypso")).episodes).toHaveLength(1);
  await service.close();
  const database = await openEmbeddedPostgres(folder);
  const [record] = await database.query<{ name: string }>({ text: "select name from search_indexes where state = 'current'" });
  await change((text) => database.query({ text }), record?.name ?? "");
  await database.close();
  return folder;
}

async function openAgain(folder: string): Promise<TestService> {
  const service = await openTestService({ DATA_DIR: folder, ...MEMORY });
  releasers.push(() => service.close());
  return service;
}

test("a service whose data came without its index reports degraded memory at every start, until the index is rebuilt", async () => {
  const folder = await prepare((statement) => statement("drop schema search cascade"));
  for (const start of ["first", "second"]) {
    const service = await openTestService({ DATA_DIR: folder, ...MEMORY });
    expect(await find(service, "Calypso")).toEqual({ episodes: [], degraded: ["episodic"], next: null });
    const { degraded, conversation_id } = await say(service, "What is my boat called?", start);
    expect(degraded).toContain("episodic");
    expect((await settle(service, conversation_id, 1_500)).json.settled).toBe(false);
    expect(await find(service, "Calypso")).toEqual({ episodes: [], degraded: ["episodic"], next: null });
    await service.close();
  }
  expect((await runScript("reindex", [], { DATA_DIR: folder, ...MEMORY })).code).toBe(0);
  const service = await openAgain(folder);
  const found = await waitUntil("the exchange", async () => {
    const answer = await find(service, "My boat is called Calypso");
    return answer.episodes.length >= 1 && answer;
  });
  expect(found.degraded).toEqual([]);
  expect(found.episodes.map(({ user_message }) => user_message)).toContain("My boat is called Calypso");
});

test("a user can be erased although the index is lost", async () => {
  const folder = await prepare((statement, name) => statement(`truncate search."${name}"`));
  const service = await openAgain(folder);
  expect((await find(service, "Calypso")).degraded).toEqual(["episodic"]);
  expect((await callApi(`${service.url}/api/v1/users/ada`, { method: "DELETE" })).status).toBe(200);
  expect(await find(service, "Calypso")).toEqual({ episodes: [], degraded: [], next: null });
});

test("an index is not reported as lost after its only exchange was erased", async () => {
  const { folder, remove } = await createDataFolder();
  releasers.push(remove);
  const first = await openTestService({ DATA_DIR: folder, ...MEMORY });
  await settle(first, (await say(first, "My boat is called Calypso")).conversation_id);
  const [episode] = (await find(first, "Calypso")).episodes;
  expect((await callApi(`${first.url}/api/v1/users/ada/episodes/${episode?.id}`, { method: "DELETE" })).status).toBe(200);
  await first.close();
  const service = await openAgain(folder);
  expect(await find(service, "Calypso")).toEqual({ episodes: [], degraded: [], next: null });
  const { conversation_id } = await say(service, "My cat is called Minka");
  expect((await settle(service, conversation_id)).json.settled).toBe(true);
  expect((await find(service, "Minka")).episodes).toHaveLength(1);
});
