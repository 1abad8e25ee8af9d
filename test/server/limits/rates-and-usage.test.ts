import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { makeUsageMeter, type UsageMeter } from "../../../server/limits/usage-meter.ts";
import type { UsedCalls } from "../../../stores/postgres/usage/usage-store.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ALL_BUT_THE_CLOCK = [
  ...(["hrtime", "nextTick", "performance", "queueMicrotask", "setImmediate", "clearImmediate"] as const),
  ...(["setInterval", "clearInterval", "setTimeout", "clearTimeout"] as const),
];
const KEYS = "acme-key-1:acme,acme-key-2:acme,other-key-1:other";
describe("the requests of a minute", () => {
  let service: TestService;
  afterEach(async () => {
    jest.useRealTimers();
    await service.close();
  });
  const get = (path: string, key = "none") => callApi(service.url + path, { headers: { authorization: `Bearer ${key}` } });
  const list = (userId: string, key?: string) => get(`/api/v1/conversations?user_id=${encodeURIComponent(userId)}`, key);
  async function statuses(count: number, request: () => Promise<{ status: number }>): Promise<number[]> {
    const seen = [];
    for (let index = 0; index < count; index++) seen.push((await request()).status);
    return seen;
  }

  test("of a user above the limit are refused with 429, the limit, its variable and the time to wait, and others are not", async () => {
    service = await openTestService({ RATE_LIMIT_PER_MINUTE: "3" }, IN_THIS_PROCESS);
    jest.useFakeTimers({ now: Date.now(), doNotFake: [...ALL_BUT_THE_CLOCK] });
    const first = await list("ada");
    expect(["limit", "remaining"].map((name) => first.headers.get(`ratelimit-${name}`))).toEqual(["3", "2"]);
    expect(await statuses(2, () => list("ada"))).toEqual([200, 200]);
    const refused = await list("ada");
    expectRefusal(refused, { status: 429, code: "rate_limited", says: /3 requests in a minute.*RATE_LIMIT_PER_MINUTE\b/ });
    expect(refused.headers.get("retry-after")).toBe("60");
    expect((await list("Ada")).status).toBe(200);
    jest.setSystemTime(Date.now() + 59_000);
    expect((await list("ada")).headers.get("retry-after")).toBe("1");
    jest.setSystemTime(Date.now() + 1_001);
    expect(await statuses(4, () => list("ada"))).toEqual([200, 200, 200, 429]);
  });

  test("count for the user who is named in the path, the query or the body", async () => {
    service = await openTestService({ RATE_LIMIT_PER_MINUTE: "4", ENABLE_CORE_MEMORY: "true", ENABLE_EPISODIC_MEMORY: "false" });
    const body = { user_id: "ad a", session_id: "s", message: "hello" };
    const imported = { user_id: "ad a", session_id: "i", messages: [{ role: "user", content: "hello" }] };
    const each = [
      () => get("/api/v1/users/ad%20a/core-memory"),
      () => list("ad a"),
      () => postJson(`${service.url}/api/v1/chat`, body),
      () => postJson(`${service.url}/api/v1/conversations/import`, imported),
    ];
    for (const status of [200, 429]) for (const request of each) expect((await request()).status).toBe(status);
    expect(await statuses(2, () => list("ada"))).toEqual([200, 200]);
  });

  test("count although they are wrong, and count for nobody when they name no user", async () => {
    service = await openTestService({ RATE_LIMIT_PER_MINUTE: "2" });
    const wrong = () => postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s" });
    expect(await statuses(3, wrong)).toEqual([400, 400, 429]);
    expect(await statuses(4, () => get("/api/v1/conversations/0198c1a2-0000-7000-8000-000000000000/messages"))).not.toContain(429);
    expect(await statuses(4, () => get("/healthz"))).toEqual([200, 200, 200, 200]);
  });

  test("of all keys and users of one tenant are counted together, apart from other tenants, and health checks are not counted", async () => {
    service = await openTestService({ API_KEYS: KEYS, RATE_LIMIT_PER_MINUTE_PER_TENANT: "3" });
    expect((await list("ada", "acme-key-1")).status).toBe(200);
    expect((await list("bob", "acme-key-2")).status).toBe(200);
    expect((await get("/api/v1/jobs", "acme-key-1")).status).toBe(200);
    const refused = await list("cleo", "acme-key-2");
    expectRefusal(refused, { status: 429, code: "rate_limited", says: /tenant.*RATE_LIMIT_PER_MINUTE_PER_TENANT/ });
    expect((await list("ada", "other-key-1")).status).toBe(200);
    expect((await get("/healthz", "acme-key-1")).status).toBe(200);
    expect((await list("ada", "wrong-key-1")).status).toBe(401);
  });

  test("of users with the same name in two tenants are counted apart", async () => {
    service = await openTestService({ API_KEYS: KEYS, RATE_LIMIT_PER_MINUTE: "1" });
    expect(await statuses(2, () => list("ada", "acme-key-1"))).toEqual([200, 429]);
    expect(await statuses(2, () => list("ada", "other-key-1"))).toEqual([200, 429]);
  });
});

const ADA = { tenantId: "acme", userId: "ada" };
const CALL = { work: "model_call", purpose: "chat", model: "m" } as const;
describe("the meter of models' calls", () => {
  const written: UsedCalls[][] = [];
  const errors: unknown[] = [];
  let fail = false;
  const opened: UsageMeter[] = [];
  const open = (): UsageMeter => {
    const store = {
      add(used: readonly UsedCalls[]) {
        if (fail) return Promise.reject(new Error("the table is unreachable"));
        written.push([...used]);
        return Promise.resolve();
      },
    };
    const meter = makeUsageMeter({ store, pricesOf: () => null, onError: (error) => errors.push(error) });
    opened.push(meter);
    return meter;
  };
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((meter) => meter.close()));
    written.length = errors.length = 0;
    fail = false;
  });
  const call = (meter: UsageMeter, tokens: number) =>
    meter.countFor(ADA, () =>
      meter.observer.watch(CALL, async (learn) => {
        await Promise.resolve();
        learn({ inputTokens: tokens, outputTokens: 1, cachedTokens: 2 });
      }),
    );

  test("writes calls together, with one row for a user, model and purpose", async () => {
    const meter = open();
    await Promise.all([call(meter, 10), call(meter, 20)]);
    await meter.close();
    expect(written).toMatchObject([
      [{ ...ADA, model: "m", calls: 2, promptTokens: 30, completionTokens: 2, cachedTokens: 4, unpricedCalls: 2 }],
    ]);
  });

  test("passes on when the first of its calls was taken from the database", async () => {
    const meter = open();
    const took = performance.now() - 5_000;
    await meter.countFor(ADA, () => meter.observer.watch(CALL, async (learn) => learn({ inputTokens: 1, outputTokens: 1 })), took);
    await call(meter, 10);
    await meter.close();
    expect(written).toMatchObject([[{ calls: 2, began: took }]]);
  });

  test("loses nothing and counts nothing twice when the database is unreachable for a while", async () => {
    const meter = open();
    fail = true;
    await call(meter, 10);
    await waitUntil("a failure", () => errors.length > 0);
    await call(meter, 5);
    fail = false;
    await waitUntil("the written calls", () => written.length > 0);
    expect(written).toMatchObject([[{ calls: 2, promptTokens: 15 }]]);
  });

  test("ignores calls for nobody, and calls that failed before they reported their tokens", async () => {
    const meter = open();
    await meter.observer.watch(CALL, async (learn) => learn({ inputTokens: 10 }));
    const thrown = meter.countFor(ADA, () => meter.observer.watch(CALL, () => Promise.reject(new Error("away"))));
    await expect(thrown).rejects.toThrow("away");
    await meter.close();
    expect(written).toEqual([]);
  });
});
