import { beforeEach, describe, expect, test, beforeAll } from "@jest/globals";
import { makeFailedKeys, MOST_FAILURES } from "../../../server/auth/failed-keys.ts";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, useTestService } from "../../support/services/service.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { addressOf, routesOfService, type AppRoute } from "../../support/clients/app-routes.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";

describe("wrong keys", () => {
  let keys: ReturnType<typeof makeFailedKeys>;
  beforeEach(() => {
    keys = makeFailedKeys();
  });
  async function fail(times: number, addressOf: (count: number) => string): Promise<void> {
    for (let count = 0; count < times; count++) await keys.failed(addressOf(count));
  }
  const expectOpen = (address: string, key = "key") => expect(keys.assertMayTry(address, key)).resolves.toBeUndefined();
  const expectClosed = (address: string, key = "key") =>
    expect(keys.assertMayTry(address, key)).rejects.toMatchObject({ code: "rate_limited" });

  test("count against their own address only", async () => {
    await fail(MOST_FAILURES - 1, () => "10.0.0.1");
    await expectOpen("10.0.0.1");
    await keys.failed("10.0.0.1");
    await expectClosed("10.0.0.1");
    for (const other of ["10.0.0.2", "10.0.0.10", "::1", ""]) await expectOpen(other);
  });

  test("from one IPv6 network count as one client, and from another network as another client", async () => {
    await fail(MOST_FAILURES, (count) => `2001:db8:0:1::${count.toString(16)}`);
    for (const same of ["2001:db8:0:1::ffff", "2001:db8:0:1:a:b:c:d", "2001:db8::1:0:0:0:1"]) await expectClosed(same);
    for (const other of ["2001:db8:0:2::1", "2001:db8::1", "::ffff:10.0.0.1"]) await expectOpen(other);
  });

  test("do not lock out a key that has worked before from the same address", async () => {
    keys.worked("10.0.0.1", "right");
    await fail(MOST_FAILURES + 10, () => "10.0.0.1");
    await expectOpen("10.0.0.1", "right");
    await expectClosed("10.0.0.1", "another");
    await fail(MOST_FAILURES, () => "10.0.0.2");
    await expectClosed("10.0.0.2", "right");
  });
});
test("an address with too many wrong keys is refused with a time to wait, except with a key that has worked there", async () => {
  const service = await openTestService({ API_KEYS: "key-in-use:acme,key-guessed:acme", JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });
  const ask = (headers: Record<string, string>) => callApi(`${service.url}/api/v1/conversations?user_id=ada`, { headers });
  const withKey = (key: string) => ask({ authorization: `Bearer ${key}` });
  expect((await withKey("key-in-use")).status).toBe(200);
  for (let count = 0; count < MOST_FAILURES; count++) expect((await withKey(`wrong-${count}`)).status).toBe(401);
  for (const key of ["one-more", "key-guessed"]) {
    const refused = await withKey(key);
    expectRefusal(refused, { status: 429, code: "rate_limited", says: /wrong keys/ });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect((await withKey("key-in-use")).status).toBe(200);
  expect((await ask(bearer(secretToken({ sub: "ada", tenant: "acme" })))).status).toBe(200);
  expect((await ask({})).status).toBe(401);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  await service.close();
});

const READ = bearer("key-that-reads");
const WRITE = bearer("key-that-writes");
/** What needs no key: health, and the page with its files, which hold nothing of anybody. */
const OPEN = ["/healthz", "/readyz", "/api/v1/health", "/", "/assets/:file", "/mcp/signed-in", "/docs", "/docs/:file", "/openapi.json"];
/** Reads and writes by its body: mcp-over-http.test.ts. */
const MCP = "/mcp";
/** Of the whole service: for a key of scope admin. */
const OPERATOR = ["/api/v1/settings", "/api/v1/models/test"];
const ID = "00000000-0000-7000-8000-000000000000";
describe("with keys of different scopes,", () => {
  const service = useTestService({ API_KEYS: "key-that-reads:acme:read,key-that-writes:acme,key-of-admin:acme:admin" }, IN_THIS_PROCESS);
  let routes: AppRoute[];
  beforeAll(async () => {
    routes = (await routesOfService(service.url)).filter(({ path }) => !OPEN.includes(path));
    expect(routes.length).toBeGreaterThan(25);
  });

  /** Sends what a route takes, as far as a route needs to see anything at all. */
  async function send(route: AppRoute, headers: Record<string, string>, method = route.method) {
    const address = service.url + addressOf(route, { id: ID, document: ID, episode: ID });
    const body = ["GET", "HEAD"].includes(method) ? {} : { body: "{}", headers: { "content-type": "application/json", ...headers } };
    const response = await fetch(address, { method, headers, ...body });
    return { route: `${method} ${route.path}`, status: response.status, headers: response.headers, text: await response.text() };
  }

  test("every route except health and the page refuses a request without a key, and so does an unknown route", async () => {
    for (const route of [...routes, { method: "GET", path: "/nothing" }, { method: "POST", path: "/v1/nothing" }]) {
      for (const method of new Set([route.method, "GET", "HEAD", "OPTIONS", "PATCH"])) {
        const { headers, text, ...answer } = await send(route, {}, method);
        expect(answer).toMatchObject({ status: 401 });
        expect(headers.get("www-authenticate")).toBe("Bearer");
        if (method !== "HEAD") expect(text).toContain("This service needs a key");
      }
    }
  });

  test("a key that may only read gets every GET, and 403 for everything else before its body is read", async () => {
    for (const route of routes.filter(({ path }) => path !== MCP && path !== "/api/v1/settings")) {
      const { route: name, status, text } = await send(route, READ);
      if (route.method === "GET") expect({ name, allowed: ![401, 403].includes(status) }).toEqual({ name, allowed: true });
      else expect({ name, status, text }).toMatchObject({ status: 403, text: expect.stringMatching(/may only read.*write/) });
    }
    expectRefusal(await postJson(`${service.url}/api/v1/chat`, "{no json", READ), { status: 403, code: "forbidden" });
    for (const method of ["OPTIONS", "PATCH"]) expect((await send({ method, path: "/api/v1/chat" }, READ)).status).toBe(403);
  });

  test("a key that may write can do everything except ask about the whole service, which needs the scope admin", async () => {
    const ofOperator = routes.filter(({ path }) => OPERATOR.includes(path));
    for (const route of ofOperator) {
      expect(await send(route, WRITE)).toMatchObject({ status: 403, text: expect.stringContaining("scope admin") as unknown });
      expect(await send(route, bearer("key-of-admin"))).toMatchObject({ status: 200 });
    }
    for (const route of routes.filter((one) => !ofOperator.includes(one))) {
      const { route: name, status } = await send(route, WRITE);
      expect({ name, allowed: ![401, 403, 500].includes(status) }).toEqual({ name, allowed: true });
    }
  });

  test("a refused write changes nothing, and an allowed write changes the data", async () => {
    const profile = `${service.url}/api/v1/users/ada/core-memory/profile`;
    const put = (headers: Record<string, string>) => putJson(profile, { content: "a pilot" }, headers);
    const sections = async () =>
      (await callApi<{ sections: unknown[] }>(`${service.url}/api/v1/users/ada/core-memory`, { headers: READ })).json.sections;
    expect((await put(READ)).status).toBe(403);
    expect(await sections()).toEqual([]);
    expect((await put(WRITE)).status).toBe(200);
    expect(await sections()).toHaveLength(1);
    expect((await callApi(profile, { method: "DELETE", headers: READ })).status).toBe(403);
    expect(await sections()).toHaveLength(1);
  });

  test("a key of every scope must still name the user", async () => {
    for (const key of ["key-that-writes", "key-of-admin"]) {
      const answer = await postJson(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, bearer(key));
      expectRefusal(answer, { status: 400, code: "invalid_request", field: "user_id" });
    }
  });
});
