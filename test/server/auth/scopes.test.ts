import { beforeAll, describe, expect, test } from "@jest/globals";
import { addressOf, routesOfService, type AppRoute } from "../../support/clients/app-routes.ts";
import { callApi, postJson, putJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { bearer } from "../../servers/token-issuer.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { useTestService } from "../../support/services/service.ts";

const READ = bearer("key-that-reads");
const WRITE = bearer("key-that-writes");
/** What needs no key: health, and the page with its files, which hold nothing of anybody. */
const OPEN = ["/healthz", "/readyz", "/api/v1/health", "/", "/assets/:file", "/mcp/signed-in", "/docs", "/docs/:file", "/openapi.json"];
/** Reads and writes by its body: mcp-over-http.test.ts. */
const MCP = "/mcp";
/** Of the whole service: for a key of scope admin. */
const OPERATOR = ["/api/v1/settings", "/api/v1/models/test"];
const ID = "00000000-0000-7000-8000-000000000000";

describe("scopes of keys", () => {
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

  test("without a key every route but those of health and of the page is 401, and so is what is no route", async () => {
    for (const route of [...routes, { method: "GET", path: "/nothing" }, { method: "POST", path: "/v1/nothing" }]) {
      for (const method of new Set([route.method, "GET", "HEAD", "OPTIONS", "PATCH"])) {
        const { headers, text, ...answer } = await send(route, {}, method);
        expect(answer).toMatchObject({ status: 401 });
        expect(headers.get("www-authenticate")).toBe("Bearer");
        if (method !== "HEAD") expect(text).toContain("This service needs a key");
      }
    }
  });

  test("a key that may only read gets every GET, and 403 from everything else before its body is looked at", async () => {
    for (const route of routes.filter(({ path }) => path !== MCP && path !== "/api/v1/settings")) {
      const { route: name, status, text } = await send(route, READ);
      if (route.method === "GET") expect({ name, allowed: ![401, 403].includes(status) }).toEqual({ name, allowed: true });
      else expect({ name, status, text }).toMatchObject({ status: 403, text: expect.stringMatching(/may only read.*write/) });
    }
    expectRefusal(await postJson(`${service.url}/api/v1/chat`, "{no json", READ), { status: 403, code: "forbidden" });
    for (const method of ["OPTIONS", "PATCH"]) expect((await send({ method, path: "/api/v1/chat" }, READ)).status).toBe(403);
  });

  test("a key that may write is refused nowhere but where the whole service is asked about, which a key of scope admin may", async () => {
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

  test("what was refused was not done, what was allowed was", async () => {
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

  test("a key of every scope must still say which user", async () => {
    for (const key of ["key-that-writes", "key-of-admin"]) {
      const answer = await postJson(`${service.url}/api/v1/chat`, { session_id: "s", message: "hi" }, bearer(key));
      expectRefusal(answer, { status: 400, code: "invalid_request", field: "user_id" });
    }
  });
});
