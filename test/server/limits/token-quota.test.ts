import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { makeTokenQuota, type TokenQuota } from "../../../server/limits/token-quota.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { TokenUsageStore } from "../../../stores/postgres/usage/usage-store.ts";
import { listConversations } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, type EventStreamResponse, postTurn, type StreamOptions } from "../../support/clients/event-client.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { useOpened } from "../../support/use-opened.ts";

describe("the sum of a tenant's tokens", () => {
  /** A table of sums in memory that records what it is asked; `fail` makes it refuse. */
  const table = {
    sums: {} as Record<string, number>,
    asked: [] as [tenantId: string, day: string, tokens: number][],
    fail: false,
    add(tenantId: string, day: string, tokens: number): Promise<number> {
      table.asked.push([tenantId, day, tokens]);
      if (table.fail) return Promise.reject(new Error("the table is unreachable"));
      const key = `${tenantId} ${day}`;
      return Promise.resolve((table.sums[key] = (table.sums[key] ?? 0) + tokens));
    },
  };
  let clock: number;
  let errors: unknown[];
  const opened: TokenQuota[] = [];
  const open = (perDay: number): TokenQuota => {
    const quota = makeTokenQuota({
      usage: table satisfies TokenUsageStore,
      perDay,
      onError: (error) => errors.push(error),
      now: () => clock,
    });
    opened.push(quota);
    return quota;
  };
  const refusal = { code: "token_quota_exceeded" };
  beforeEach(() => {
    clock = Date.parse("2026-03-01T23:59:00Z");
    errors = [];
    Object.assign(table, { sums: {}, asked: [], fail: false });
  });
  afterEach(() => Promise.all(opened.splice(0).map((quota) => quota.close())));

  test("counts tokens at once in the process that used them, before they are written", async () => {
    const quota = open(10);
    await quota.assertLeft("acme");
    quota.add("acme", 10);
    await expect(quota.assertLeft("acme")).rejects.toMatchObject({ ...refusal, retryAfterSeconds: 60 });
    await expect(quota.assertLeft("other")).resolves.toBeUndefined();
  });

  test("begins anew at midnight UTC, and tokens used before stay with their day", async () => {
    const quota = open(10);
    quota.add("acme", 10);
    clock += 59_001;
    await expect(quota.assertLeft("acme")).rejects.toMatchObject({ ...refusal, retryAfterSeconds: 1 });
    quota.add("acme", 3);
    clock += 999;
    await expect(quota.assertLeft("acme")).resolves.toBeUndefined();
    quota.add("acme", 4);
    await quota.close();
    expect(table.sums).toEqual({ "acme 2026-03-01": 13, "acme 2026-03-02": 4 });
  });

  test("asks the database at most once a second, however many turns begin and end", async () => {
    const quota = open(1_000_000);
    for (let turn = 0; turn < 50; turn++) {
      await quota.assertLeft("acme");
      quota.add("acme", 2);
    }
    expect(table.asked).toEqual([["acme", "2026-03-01", 0]]);
    await waitUntil("the written sum", () => table.sums["acme 2026-03-01"] === 100);
    expect(table.asked).toHaveLength(2);
  });

  test("loses nothing and counts nothing twice when the database is unreachable for a while", async () => {
    const quota = open(100);
    table.fail = true;
    quota.add("acme", 60);
    await waitUntil("a failure", () => errors.length > 0);
    quota.add("acme", 5);
    table.fail = false;
    await waitUntil("the written sum", () => table.sums["acme 2026-03-01"] === 65);
    quota.add("acme", 35);
    await expect(quota.assertLeft("acme")).rejects.toMatchObject(refusal);
  });

  test("is unknown while the database is unreachable, and then no turn begins", async () => {
    table.fail = true;
    await expect(open(100).assertLeft("acme")).rejects.toThrow("the table is unreachable");
  });

  test("is neither read nor written when there is no limit", async () => {
    const quota = open(0);
    quota.add("acme", 60);
    await quota.assertLeft("acme");
    await quota.close();
    expect(table.asked).toEqual([]);
  });
});

const AS_ACME = { authorization: "Bearer acme-key-1" };
const AS_OTHER = { authorization: "Bearer other-key-1" };
/** What the model server counts for an answer of one token. */
const ONE_TURN = 101;

describe("a tenant's tokens of a day", () => {
  const model = useOpened(() => startModelServer());
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  const services: TestService[] = [];
  beforeEach(async () => {
    database = await createRealDatabase();
    model.answer({ tokens: ["yes"] });
  });
  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.close()));
    await database.drop();
  });

  async function start(tokens: number): Promise<TestService> {
    const keys = { API_KEYS: "acme-key-1:acme,other-key-1:other" };
    const settings = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ENABLE_SUMMARY: "false", TOKENS_PER_DAY: String(tokens) };
    const service = await openTestService({ ...settings, ...keys });
    services.push(service);
    return service;
  }
  const ask = ({ url }: TestService, sessionId: string, headers: Record<string, string> = {}, onEvent?: StreamOptions["onEvent"]) => {
    const body = { user_id: "ada", session_id: sessionId, message: "hello" };
    return postTurn(url, body, { headers: { ...AS_ACME, ...headers }, ...(onEvent ? { onEvent } : {}) });
  };
  const keyed = (service: TestService, key: string) => ask(service, key, { "idempotency-key": key });
  const done = ({ events }: EventStreamResponse) => contentOf(events, "done");
  const USED_UP = { status: 429, json: { error: { code: "token_quota_exceeded" } } };

  async function storedTokens(): Promise<Record<string, number>> {
    const reader = await openPostgres(database.url);
    const rows = await reader.query<{ tenant_id: string; tokens: string }>({ text: "select tenant_id, tokens from token_usage" });
    await reader.close();
    return Object.fromEntries(rows.map(({ tenant_id, tokens }) => [tenant_id, Number(tokens)]));
  }

  test("are one sum of all processes, and another process refuses the next turn until midnight and stores nothing of it", async () => {
    const [one, other] = await Promise.all([start(1), start(1)]);
    expect((await ask(one, "first")).status).toBe(200);
    const refused = await waitUntil("the other process to know", async () => {
      const answer = await ask(other, `later ${performance.now()}`);
      return answer.status === 429 && answer;
    });
    expect(refused).toMatchObject(USED_UP);
    expect(refused.json?.error.message).toMatch(/of its 1 tokens.*midnight UTC.*TOKENS_PER_DAY/);
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d{0,4}$/);
    const before = await listConversations(other.url, "ada", AS_ACME);
    for (const service of [one, other]) expect(await ask(service, "never")).toMatchObject(USED_UP);
    expect(await listConversations(other.url, "ada", AS_ACME)).toEqual(before);
    expect((await ask(other, "mine", AS_OTHER)).status).toBe(200);
  });

  test("outlive the process exactly, with the tokens of a cancelled turn", async () => {
    const first = await start(1_000_000);
    for (const session of ["1", "2", "3"]) expect(done(await ask(first, session)).usage.total_tokens).toBe(ONE_TURN);
    await first.close();
    expect(await storedTokens()).toEqual({ acme: 3 * ONE_TURN });
    const second = await start(3 * ONE_TURN + 1);
    model.answer({ tokens: ["one ", "two "], ending: "hang" });
    await ask(second, "left", {}, ({ data }) => (data.status === "token" ? "leave" : undefined));
    await waitUntil("more tokens", async () => ((await storedTokens())["acme"] ?? 0) > 3 * ONE_TURN);
    expect(await ask(second, "4")).toMatchObject(USED_UP);
  });

  test("are used once by a turn, however often its key is sent, and its answer can be read when they are used up", async () => {
    const service = await start(2 * ONE_TURN);
    const first = done(await keyed(service, "one"));
    for (let again = 0; again < 3; again++) expect(done(await keyed(service, "one"))).toEqual(first);
    expect((await ask(service, "two")).status).toBe(200);
    expect(await ask(service, "three")).toMatchObject(USED_UP);
    expect(done(await keyed(service, "one"))).toEqual(first);
  });

  test("are used by each attempt at a message, and another attempt is refused when none are left", async () => {
    const service = await start(ONE_TURN);
    model.answer({ status: 500 });
    for (const key of ["failed", "failed-too"]) await keyed(service, key);
    model.answer({ tokens: ["yes"] });
    expect(done(await keyed(service, "failed")).answer).toBe("yes");
    expect(await keyed(service, "failed-too")).toMatchObject(USED_UP);
    expect(done(await keyed(service, "failed")).answer).toBe("yes");
  });
});
