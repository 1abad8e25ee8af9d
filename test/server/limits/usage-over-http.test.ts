import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../turn/events.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { callApi, type ErrorBody, postJson } from "../../support/clients/api-client.ts";
import { beginTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface Totals {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost: { input_usd: number; output_usd: number } | null;
  unpriced_calls: number;
  estimated: boolean;
}
interface Used {
  user_id?: string | null;
  model?: string;
  day?: string;
  turns: Totals;
  background: Totals;
  purposes: Record<string, Totals>;
}
type UsageBody = { usage: Used[]; next: string | null; from: string; to: string } & ErrorBody;

const profiles = join(tmpdir(), `${uuidv7()}.json`);
const PRICE = { input: 1_000, output: 10_000 };
/** Of an answer of two tokens. */
const ONE_TURN = { input_usd: 0.1, output_usd: 0.02 };

describe("the use of models", () => {
  let model: Awaited<ReturnType<typeof startModelServer>>;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  const services: TestService[] = [];
  const open = async (settings: Record<string, string> = {}): Promise<TestService> => {
    const service = await openTestService({
      DATABASE_URL: database.url,
      OPENAI_BASE_URL: model.url,
      CHAT_MODEL: "priced",
      ENABLE_SUMMARY: "false",
      MODEL_PROFILES: profiles,
      ...settings,
    });
    services.push(service);
    return service;
  };

  beforeAll(async () => {
    await writeFile(profiles, JSON.stringify({ priced: { prices: PRICE } }));
    model = await startModelServer();
  });
  afterAll(() => model.close());
  beforeEach(async () => {
    model.answer({ tokens: ["a", "b"] });
    database = await createRealDatabase();
  });
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close();
    await database.drop();
  });

  const say = (service: TestService, userId: string, session = uuidv7()) =>
    postJson<TurnResult & ErrorBody>(`${service.url}/api/v1/chat`, { user_id: userId, session_id: session, message: "My name is Ada." });
  const usage = async (service: TestService, query: Record<string, string>) =>
    (await callApi<UsageBody>(`${service.url}/api/v1/usage?${new URLSearchParams(query).toString()}`)).json;
  const untilUsed = (service: TestService, query: Record<string, string>, isThere: (used: Used[]) => boolean) =>
    waitUntil("the usage to be written", async () => {
      const { usage: used } = await usage(service, query);
      return isThere(used) && used;
    });
  const turnsOf = (used: readonly Used[]): number => used.reduce((sum, { turns }) => sum + turns.calls, 0);

  test("is one sum of all processes by user, model and day, and outlives the processes", async () => {
    const [one, other] = await Promise.all([open(), open()]);
    await Promise.all([say(one, "ada"), say(other, "ada"), say(one, "bob"), say(other, "ada")]);
    const byUser = await untilUsed(one, { by: "user" }, (used) => turnsOf(used) === 4);
    expect(byUser).toMatchObject([
      { user_id: "ada", turns: { calls: 3, prompt_tokens: 300, completion_tokens: 6, unpriced_calls: 0, estimated: false } },
      { user_id: "bob", turns: { calls: 1, prompt_tokens: 100, completion_tokens: 2, cost: ONE_TURN } },
    ]);
    expect(byUser[0]?.turns.cost?.input_usd).toBeCloseTo(0.3, 10);
    expect(byUser[0]).toMatchObject({ background: { calls: 0, cost: { input_usd: 0, output_usd: 0 } }, purposes: {} });
    await say(other, "eve"); // written when the process ends
    for (const service of services.splice(0)) await service.close();
    const again = await open();
    expect((await usage(again, { by: "model" })).usage).toMatchObject([{ model: "priced", turns: { calls: 5 } }]);
    const { usage: byDay, from, to } = await usage(again, { by: "day", user_id: "ada" });
    expect(byDay).toMatchObject([{ day: to, turns: { calls: 3 } }]);
    expect(Date.parse(to) - Date.parse(from)).toBe(29 * 86_400_000);
    expect((await usage(again, { to: "2026-01-01" })).usage).toEqual([]);
  });

  test("has the calls of memory, titles and routing apart from turns, under their purposes and for their user", async () => {
    const settings = { MEMORY_MODEL: "memory", SUMMARY_MODEL: "summary", TITLE_MODEL: "title", ROUTER_MODEL: "router" };
    const service = await open({
      ...settings,
      ...{ ENABLE_CORE_MEMORY: "true", ENABLE_SUMMARY: "true", SUMMARY_MIN_MESSAGES: "1", SUMMARY_UPDATE_DELTA: "1", HISTORY_WINDOW: "1" },
    });
    await callApi(`${service.url}/api/v1/knowledge/trips`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ description: "trains" }),
    });
    const { json: done } = await say(service, "ada", "s");
    await say(service, "ada", "s");
    await postJson(`${service.url}/api/v1/conversations/${done.conversation_id}/settle`, "");
    const purposes = ["memory", "router", "summary", "title"];
    const [used] = await untilUsed(service, { by: "user" }, ([ada]) => purposes.every((purpose) => ada?.purposes[purpose]));
    expect(used).toMatchObject({ user_id: "ada", turns: { calls: 2, cost: { input_usd: 0.2 } } });
    expect(Object.keys(used?.purposes ?? {}).toSorted()).toEqual(purposes);
    expect(used?.purposes["router"]).toMatchObject({ calls: 2, cost: null, unpriced_calls: 2 });
    const sum = Object.values(used?.purposes ?? {}).reduce((calls, totals) => calls + totals.calls, 0);
    expect(used?.background).toMatchObject({ calls: sum, cost: null, unpriced_calls: sum });
    const byModel = (await usage(service, { by: "model" })).usage.map((of) => [of.model, of.turns.calls]);
    expect(byModel).toEqual([
      ["memory", 0],
      ["priced", 2],
      ["router", 0],
      ["summary", 0],
      ["title", 0],
    ]);
  });

  test("is estimated when the server reports no usage, and is nothing for a call that failed at once", async () => {
    model.answer({ tokens: ["a", "b"], withoutUsage: true });
    const service = await open();
    await say(service, "ada");
    model.answer({ status: 400 });
    expect((await say(service, "ada")).status).toBeGreaterThan(399);
    model.answer({ tokens: ["a"] });
    await say(service, "bob");
    const used = await untilUsed(service, { by: "user" }, (all) => all.length === 2);
    expect(used.map(({ turns }) => [turns.calls, turns.estimated])).toEqual([
      [1, true],
      [1, false],
    ]);
    expect(used[0]?.turns.cost?.output_usd).toBeGreaterThan(0);
  });

  test("names no erased user, even after a turn that ran meanwhile, and keeps the tenant's sums", async () => {
    const service = await open();
    await say(service, "ada");
    await say(service, "bob");
    await untilUsed(service, { by: "user" }, (used) => used.length === 2);
    const release = model.hold();
    const asked = model.seen.length;
    const { ended } = await beginTurn(service.url, { user_id: "ada", session_id: "late", message: "hello", on_disconnect: "continue" });
    await model.untilAsked(asked + 1);
    await callApi(`${service.url}/api/v1/users/ada`, { method: "DELETE" });
    release();
    await ended;
    const used = await untilUsed(service, { by: "user" }, (all) => turnsOf(all) === 3);
    expect(used.map(({ user_id, turns }) => [user_id, turns.calls])).toEqual([
      [null, 2],
      ["bob", 1],
    ]);
    expect((await usage(service, { by: "user", user_id: "ada" })).usage).toEqual([]);
    model.answer({ tokens: ["a"] });
    await say(service, "ada");
    expect(await untilUsed(service, { by: "user", user_id: "ada" }, (all) => all.length > 0)).toMatchObject([{ turns: { calls: 1 } }]);
  });

  test("is shown page by page, and a wrong query is refused with the name of the field", async () => {
    const service = await open();
    for (const user of ["ada", "bob", "eve"]) await say(service, user);
    await untilUsed(service, { by: "user" }, (used) => used.length === 3);
    const first = await usage(service, { by: "user", limit: "2" });
    const rest = await usage(service, { by: "user", limit: "2", after: first.next ?? "" });
    expect([...first.usage, ...rest.usage].map((used) => used.user_id)).toEqual(["ada", "bob", "eve"]);
    expect(rest.next).toBeNull();
    const refused: [Record<string, string>, string][] = [
      [{ by: "mood" }, "by"],
      [{ from: "yesterday" }, "from"],
      [{ from: "2026-02-02", to: "2026-02-01" }, "from"],
      [{ by: "day", after: first.next ?? "" }, "after"],
      [{ after: "x" }, "after"],
    ];
    for (const [query, field] of refused) {
      const answer = await callApi(`${service.url}/api/v1/usage?${new URLSearchParams(query).toString()}`);
      expectRefusal(answer, { status: 400, code: "invalid_request", field });
    }
  });

  test("is limited by COST_PER_DAY, which refuses turns until the next day", async () => {
    const service = await open({ COST_PER_DAY: "0.2" });
    const other = await open({ COST_PER_DAY: "0.2" });
    expect((await say(service, "ada")).status).toBe(200);
    expect((await say(service, "bob")).status).toBe(200);
    const refused = await say(service, "eve");
    expectRefusal(refused, { status: 429, code: "cost_quota_exceeded", says: /used \$0\.24 of its \$0\.2 .*COST_PER_DAY/ });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await waitUntil("the other process to know", async () => (await say(other, "eve")).status === 429);
  });

  test("cannot be limited by COST_PER_DAY when a model has no price, and the service does not start", async () => {
    await expect(open({ COST_PER_DAY: "1", MEMORY_MODEL: "unpriced" })).rejects.toThrow(/COST_PER_DAY: needs the prices of unpriced; /);
  });
});
