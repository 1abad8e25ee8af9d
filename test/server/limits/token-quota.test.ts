import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { listConversations, postJson, type ApiResponse } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const AS_ACME = { authorization: "Bearer acme-key-1" };
const AS_OTHER = { authorization: "Bearer other-key-1" };

describe("tokens a day of a tenant", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeEach(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    model.answer({ tokens: ["yes ", "indeed"] });
  });
  afterEach(async () => {
    await killServiceProcesses();
    await model.close();
    await database.drop();
  });

  const start = (tokens: number): Promise<ServiceProcess> =>
    startServiceProcess({
      DATABASE_URL: database.url,
      OPENAI_BASE_URL: model.url,
      ENABLE_SUMMARY: "false",
      API_KEYS: "acme-key-1:acme,other-key-1:other",
      TOKENS_PER_DAY: String(tokens),
    });
  const body = (sessionId: string): object => ({ user_id: "ada", session_id: sessionId, message: "hello" });
  const ask = (url: string, sessionId: string, headers = AS_ACME): Promise<ApiResponse<Partial<Answer> & Refused>> =>
    postJson(`${url}/api/v1/chat`, body(sessionId), headers);

  async function storedTokens(): Promise<Record<string, number>> {
    const reader = await openPostgres(database.url);
    const rows = await reader.query<{ tenant_id: string; tokens: string; today: boolean }>({
      text: "select tenant_id, tokens, day = (now() at time zone 'utc')::date as today from token_usage",
    });
    await reader.close();
    return Object.fromEntries(rows.map(({ tenant_id, tokens }) => [tenant_id, Number(tokens)]));
  }

  test("are one sum of all processes: what one has used the other refuses, with the time to midnight, and stores nothing", async () => {
    const [one, other] = await Promise.all([start(1), start(1)]);
    const first = await ask(one.url, "first");
    expect(first.status).toBe(200);
    const refused = await waitUntil("the other process to know", async () => {
      const answer = await ask(other.url, `later ${performance.now()}`);
      return answer.status === 429 && answer;
    });
    expectRefusal(refused, { status: 429, code: "token_quota_exceeded", says: /of its 1 tokens.*midnight UTC.*TOKENS_PER_DAY/ });
    const seconds = Number(refused.headers.get("retry-after"));
    const toMidnight = (86_400_000 - (Date.now() % 86_400_000)) / 1_000;
    expect(Math.abs(seconds - toMidnight)).toBeLessThan(60);
    const before = await listConversations(other.url, "ada", AS_ACME);
    expect((await ask(other.url, "never")).status).toBe(429);
    expect((await postTurn(one.url, body("never"), { headers: AS_ACME })).status).toBe(429);
    expect(await listConversations(other.url, "ada", AS_ACME)).toEqual(before);
    expect((await ask(other.url, "mine", AS_OTHER)).status).toBe(200);
  });

  test("outlive the process: what was used before a stop counts after the start, to the token", async () => {
    const first = await start(1_000_000);
    const used = [];
    for (const session of ["1", "2", "3"]) used.push((await ask(first.url, session)).json.usage?.total_tokens ?? 0);
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    const sum = used.reduce((all, tokens) => all + tokens, 0);
    expect(sum).toBeGreaterThan(0);
    expect(await storedTokens()).toEqual({ acme: sum });
    const second = await start(sum);
    expect((await ask(second.url, "4")).json.error.code).toBe("token_quota_exceeded");
  });

  test("include those of turns that were cancelled", async () => {
    const service = await start(1_000_000);
    model.answer({ tokens: ["one ", "two "], ending: "hang" });
    await postTurn(service.url, body("left"), { headers: AS_ACME, onEvent: ({ data }) => (data.status === "token" ? "leave" : undefined) });
    const stored = await waitUntil("tokens in the table", async () => (await storedTokens())["acme"]);
    expect(stored).toBeGreaterThan(0);
  });

  test("are not written when there is no limit", async () => {
    const service = await start(0);
    expect((await ask(service.url, "1")).status).toBe(200);
    service.kill("SIGTERM");
    await service.exited;
    expect(await storedTokens()).toEqual({});
  });
});

interface Answer {
  usage: { total_tokens: number };
}

interface Refused {
  error: { code: string; message: string };
}
