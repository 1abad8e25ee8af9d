import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { SignJWT } from "jose";
import { v7 as uuidv7 } from "uuid";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { callApi, listMessages, postJson, type ListedMessage } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries, type ServiceWithSummaries, type ShownSummary } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ACME = { authorization: "Bearer key-of-acme" };
const GLOBEX = { authorization: "Bearer key-of-globex" };
const SECRET = "a secret that only this test and its service know";

interface ShownJob {
  id: string;
  kind: string;
  state: string;
  attempts: number;
  error: { code: string; message: string } | null;
}

interface ShownStatus {
  dependencies: Record<string, string>;
  layers: Record<string, string>;
  core_memory_sections: string[];
  models: { chat: string; embedder: string | null };
  turns: { at: string; total_ms: number | null; first_token_ms: number | null; degraded: string[]; code: string | null }[];
  jobs: { kind: string; state: string; count: number }[] | null;
}

describe("looking inside over HTTP", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let running: ServiceWithSummaries;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
    const keys = { API_KEYS: "key-of-acme:acme,key-of-globex:globex", JWT_SECRET: SECRET, JWT_TENANT_CLAIM: "tenant" };
    running = await openServiceWithSummaries({ DATABASE_URL: real.url, ...keys });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
    await real.drop();
  });

  const get = <Body>(path: string, headers: Record<string, string> = ACME) => callApi<Body>(`${running.url}/api/v1${path}`, { headers });
  async function tokenOf(userId: string): Promise<Record<string, string>> {
    const token = new SignJWT({ sub: userId, tenant: "acme" }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("5m");
    return { authorization: `Bearer ${await token.sign(new TextEncoder().encode(SECRET))}` };
  }

  test("earlier versions of a summary can be read while they are kept", async () => {
    running.summarise({ tokens: ["the first"] });
    await running.say("ada", "one", ACME);
    const { conversation_id: id } = await running.say("ada", "two", ACME);
    await running.settle(id, 30_000, ACME);
    running.summarise({ tokens: ["the second"] });
    await running.say("ada", "three", ACME);
    await running.settle(id, 30_000, ACME);
    const version = async (number: number) =>
      (await get<{ summary: ShownSummary }>(`/conversations/${id}/summary?version=${number}`)).json.summary;
    expect(await version(1)).toMatchObject({ text: "the first", version: 1, covered_message_count: 2 });
    expect(await version(2)).toEqual(await running.summaryOf(id, ACME));
    expectRefusal(await get(`/conversations/${id}/summary?version=3`), { status: 404, code: "not_found", says: /[Vv]ersion 3/ });
    const refusal = { status: 400, code: "invalid_request", field: "version" };
    expectRefusal(await get(`/conversations/${id}/summary?version=0`), refusal);
    expectRefusal(await get(`/conversations/${id}/summary?version=1`, GLOBEX), { status: 404, code: "not_found" });
  });

  test("the jobs of a conversation are shown with their failures, and run again for it alone", async () => {
    async function makeDead(userId: string): Promise<string> {
      running.summarise({ status: 401 });
      await running.say(userId, "one", ACME);
      const { conversation_id: id } = await running.say(userId, "two", ACME);
      await waitUntil("it is dead", async () => {
        await database.query({ text: "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed'" });
        return (await get<{ jobs: ShownJob[] }>(`/conversations/${id}/jobs`)).json.jobs.some(({ state }) => state === "dead");
      });
      return id;
    }
    const [id, other] = [await makeDead("bob"), await makeDead("eve")];
    const { jobs } = (await get<{ jobs: ShownJob[] }>(`/conversations/${id}/jobs`)).json;
    expect(jobs).toEqual([
      {
        id: expect.any(String),
        kind: "summarise",
        state: "dead",
        attempts: expect.any(Number),
        error: { code: "model_refused", message: expect.any(String) },
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    const retry = (headers: Record<string, string>, body: object = { conversation_id: id }) =>
      postJson(`${running.url}/api/v1/jobs/retry`, body, headers);
    expectRefusal(await retry(GLOBEX), { status: 404, code: "not_found" });
    expectRefusal(await retry(await tokenOf("eve")), { status: 404, code: "not_found" });
    expectRefusal(await retry(await tokenOf("bob"), {}), { status: 403, code: "forbidden" });
    expectRefusal(await retry(ACME, { conversation_id: "x" }), { status: 400, code: "invalid_request", field: "conversation_id" });
    running.summarise({ tokens: ["at last"] });
    expect((await retry(await tokenOf("bob"))).json).toEqual({ retried: 1 });
    await running.settle(id, 30_000, ACME);
    expect((await get<{ jobs: ShownJob[] }>(`/conversations/${id}/jobs`)).json.jobs).toEqual([]);
    expect(await running.summaryOf(other, ACME)).toBeNull();
  });

  test("a message is found by its id, by whoever may read its conversation", async () => {
    const { conversation_id: id } = await running.say("carol", "where is it?", ACME);
    const [asked] = await listMessages(running.url, id, ACME);
    const path = `/messages/${asked?.id}`;
    const found = await get<{ message: ListedMessage; conversation_id: string; user_id: string }>(path);
    expect(found.json).toEqual({ message: asked, conversation_id: id, user_id: "carol" });
    expect((await get(path, await tokenOf("carol"))).status).toBe(200);
    for (const headers of [GLOBEX, await tokenOf("eve")]) expectRefusal(await get(path, headers), { status: 404, code: "not_found" });
    expectRefusal(await get(`/messages/${uuidv7()}`), { status: 404, code: "not_found" });
    expectRefusal(await get("/messages/x"), { status: 400, code: "invalid_request" });
  });

  test("messages are listed from the newest on when told so", async () => {
    const { conversation_id: id } = await running.say("hal", "one", ACME);
    const order = async (query: string) =>
      (await get<{ messages: ListedMessage[] }>(`/conversations/${id}/messages${query}`)).json.messages.map(({ role }) => role);
    expect(await order("?order=newest_first")).toEqual(["assistant", "user"]);
    expect(await order("")).toEqual(["user", "assistant"]);
    const refusal = { status: 400, code: "invalid_request", field: "order" };
    expectRefusal(await get(`/conversations/${id}/messages?order=newest`), refusal);
  });

  test("memory operations can be only those of one message", async () => {
    const address = `${running.url}/api/v1/users/dan/core-memory/profile`;
    const body = JSON.stringify({ content: "Dan" });
    await callApi(address, { method: "PUT", headers: { ...ACME, "content-type": "application/json" }, body });
    const operations = async (query: string) =>
      (await get<{ operations: object[] }>(`/users/dan/memory-operations${query}`)).json.operations.length;
    expect([await operations(""), await operations(`?trigger_message_id=${uuidv7()}`)]).toEqual([1, 0]);
    const refusal = { status: 400, code: "invalid_request", field: "trigger_message_id" };
    expectRefusal(await get("/users/dan/memory-operations?trigger_message_id=x"), refusal);
  });

  test("the status tells of dependencies, layers, the last turns and the jobs; a user's token does not see those", async () => {
    const before = (await get<ShownStatus>("/status")).json;
    await running.say("fay", "hello", ACME);
    const { dependencies, layers, core_memory_sections: sections, models, turns, jobs } = (await get<ShownStatus>("/status")).json;
    expect(dependencies).toEqual({ postgres: "up", chat_model: "up" });
    expect(layers).toEqual({ summary: "on", core_memory: "off", episodic: "off", knowledge: "off" });
    expect(sections).toEqual(["profile", "preferences", "goals", "relationships", "constraints"]);
    expect(models).toEqual({ chat: expect.stringContaining(running.model.url), embedder: null });
    expect(turns).toHaveLength(before.turns.length + 1);
    expect(turns.at(-1)).toEqual({
      at: expect.stringMatching(/Z$/),
      total_ms: expect.any(Number),
      first_token_ms: expect.any(Number),
      degraded: [],
      code: null,
    });
    expect(jobs).toEqual(expect.any(Array));
    expect((await get<ShownStatus>("/status", await tokenOf("fay"))).json.jobs).toBeNull();
  });
});
