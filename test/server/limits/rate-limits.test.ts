import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

const ALL_BUT_THE_CLOCK = [
  ...(["hrtime", "nextTick", "performance", "queueMicrotask", "setImmediate", "clearImmediate"] as const),
  ...(["setInterval", "clearInterval", "setTimeout", "clearTimeout"] as const),
];
const KEYS = "acme-key-1:acme,acme-key-2:acme,other-key-1:other";

describe("requests a minute", () => {
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

  test("of a user over the limit are refused with 429, the limit, its variable and when to come again; others are not", async () => {
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

  test("count for the user wherever the request names it: path, query, body, import", async () => {
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

  test("that are wrong count, too, and those of no user for no user", async () => {
    service = await openTestService({ RATE_LIMIT_PER_MINUTE: "2" });
    const wrong = () => postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s" });
    expect(await statuses(3, wrong)).toEqual([400, 400, 429]);
    expect(await statuses(4, () => get("/api/v1/conversations/0198c1a2-0000-7000-8000-000000000000/messages"))).not.toContain(429);
    expect(await statuses(4, () => get("/healthz"))).toEqual([200, 200, 200, 200]);
  });

  test("of a tenant are one sum of its keys and users, and not another tenant's; health counts for nobody", async () => {
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

  test("of users of the same name in two tenants are counted apart", async () => {
    service = await openTestService({ API_KEYS: KEYS, RATE_LIMIT_PER_MINUTE: "1" });
    expect(await statuses(2, () => list("ada", "acme-key-1"))).toEqual([200, 429]);
    expect(await statuses(2, () => list("ada", "other-key-1"))).toEqual([200, 429]);
  });
});
