import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { addressOf, routesOfService } from "../../support/clients/app-routes.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

const PAGE = "https://chat.example.org";
const OTHER_PAGE = "https://other.example.org:8443";
const EVIL = "https://evil.example.org";
const KEYS = { API_KEYS: "key-of-acme:acme" };
const KEY = { authorization: "Bearer key-of-acme" };
const LIST = "/api/v1/conversations?user_id=ada";
const WRITE = "/api/v1/jobs/retry";
const OVER_HTTPS = { "x-forwarded-proto": "https" };
const ID = "00000000-0000-7000-8000-000000000000";

let open: TestService;
let keyed: TestService;
let keyedForPages: TestService;
beforeAll(async () => {
  [open, keyed, keyedForPages] = await Promise.all([
    openTestService({ ALLOWED_HOSTS: "chat.home.arpa, 192.0.2.7", TRUST_PROXY: "loopback" }, IN_THIS_PROCESS),
    openTestService(KEYS),
    openTestService({ ...KEYS, CORS_ORIGINS: `${PAGE}, ${OTHER_PAGE}` }),
  ]);
});
afterAll(() => Promise.all([open, keyed, keyedForPages].map((service) => service.close())));

type Headers = Record<string, string | undefined>;
/** The status of a write with these headers. */
async function write(service: TestService, headers: Headers): Promise<number> {
  const given = Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined));
  return (await callApi(service.url + WRITE, { method: "POST", headers: given })).status;
}

/** A request with this Host, which fetch may not set. */
function askAs({ url }: TestService, host: string, path: string, headers: Headers = {}, method = "GET") {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>();
  request(url + path, { method, headers: { host, ...headers } }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    response.on("end", () => resolve({ status: response.statusCode, text }));
  })
    .on("error", reject)
    .end();
  return promise;
}

describe("security headers", () => {
  const ALWAYS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
  };

  test.each([
    ["an answer without a key", "/healthz", {}, 200],
    ["a refusal", "/api/v1/conversations", {}, 401],
    ["an unknown route", "/nothing", KEY, 404],
    ["a bad request", "/api/v1/conversations", KEY, 400],
    ["a broken address", "/api/v1/users/%ff/core-memory", KEY, 400],
  ])("are on %s", async (_name, path, given, status) => {
    const answer = await callApi(keyed.url + path, { headers: { ...given } });
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject(ALWAYS);
    expect(answer.headers.has("x-powered-by")).toBe(false);
  });

  test("are on a stream, too", async () => {
    const { headers } = await postTurn(keyed.url, { user_id: "ada", session_id: "s", message: "hello" }, { headers: KEY });
    expect(Object.fromEntries(headers)).toMatchObject({
      ...ALWAYS,
      "cache-control": expect.stringContaining("no-store"),
      "content-type": expect.stringContaining("text/event-stream"),
    });
  });

  test("ask for https only when the client came over https, which a trusted proxy reports", async () => {
    const elsewhere = await openTestService({ TRUST_PROXY: "10.0.0.0/8" });
    const asked = async (service: TestService, headers = {}) =>
      (await service.get("/healthz", headers)).headers.get("strict-transport-security");
    expect(await asked(open, OVER_HTTPS)).toMatch(/^max-age=\d{7,}/);
    expect(await Promise.all([asked(open), asked(keyed, OVER_HTTPS), asked(elsewhere, OVER_HTTPS)])).toEqual([null, null, null]);
    await elsewhere.close();
  });
});

describe("pages of other origins", () => {
  const CORS_HEADERS = ["allow-origin", "allow-methods", "allow-headers", "expose-headers"].map((name) => `access-control-${name}`);
  /** The last ones are of LangGraph Studio and of OpenAI's client. */
  const NAMES = "authorization,content-type,idempotency-key,if-match,last-event-id,x-api-key,x-auth-scheme,x-stainless-os";
  const allowed = ({ headers }: { headers: globalThis.Headers }): string | null => headers.get("access-control-allow-origin");
  /** A browser's question whether a page may send this request. */
  function preflight({ url }: TestService, origin: string, path = "/api/v1/chat"): Promise<Response> {
    const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": NAMES };
    return fetch(url + path, { method: "OPTIONS", headers });
  }

  test.each(["/api/v1/chat", "/api/v1/users/ada", "/v1/chat/completions"])(
    "get an answer to a preflight for %s without a key",
    async (path) => {
      const answer = await preflight(keyedForPages, PAGE, path);
      expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 204, body: "" });
      expect(allowed(answer)).toBe(PAGE);
      expect(answer.headers.get("access-control-allow-methods")?.split(",")).toEqual(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
      expect(answer.headers.get("access-control-allow-headers")).toBe(NAMES);
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    },
  );

  test("on the internet may ask for access to this private network, as Studio does", async () => {
    const asked = { origin: PAGE, "access-control-request-method": "GET", "access-control-request-private-network": "true" };
    const answer = await fetch(`${keyedForPages.url}/langgraph/ok`, { method: "OPTIONS", headers: asked });
    expect([answer.headers.get("access-control-allow-private-network"), allowed(answer)]).toEqual(["true", PAGE]);
  });

  test.each([
    [KEY, 200],
    [{}, 401],
  ])("in CORS_ORIGINS may read answers, refusals and their headers, with the request headers %j", async (headers, status) => {
    const answer = await keyedForPages.get(LIST, { ...headers, origin: OTHER_PAGE });
    expect([answer.status, allowed(answer)]).toEqual([status, OTHER_PAGE]);
    expect(answer.headers.get("vary")).toContain("Origin");
    const exposed = answer.headers.get("access-control-expose-headers")?.split(",").sort();
    const ours = ["x-pagination-next", "x-request-id", "x-should-retry", "x-turn-id"];
    expect(exposed).toEqual(["content-location", "etag", "location", "retry-after", ...ours]);
  });

  test.each([
    `${PAGE}.evil.example`,
    "http://chat.example.org",
    `${PAGE}:8443`,
    "https://sub.chat.example.org",
    "https://CHAT.example.org",
    "null",
    "*",
  ])("may do nothing when CORS_ORIGINS has only others, as for %s", async (origin) => {
    expect(allowed(await preflight(keyedForPages, origin))).toBeNull();
    expect(allowed(await keyedForPages.get("/healthz", { origin }))).toBeNull();
    expect(await write(keyedForPages, { ...KEY, origin, "sec-fetch-site": "cross-site" })).toBe(403);
  });

  test("in CORS_ORIGINS may write", async () => {
    expect(await write(keyedForPages, { ...KEY, origin: PAGE, "sec-fetch-site": "cross-site" })).toBe(200);
  });

  test("may all call with a key when CORS_ORIGINS is *", async () => {
    const service = await openTestService({ ...KEYS, CORS_ORIGINS: "*" });
    expect(allowed(await preflight(service, "https://any.example"))).toBe("*");
    expect((await service.get(LIST, { origin: "https://any.example" })).status).toBe(401);
    expect(await write(service, { ...KEY, origin: "https://any.example", "sec-fetch-site": "cross-site" })).toBe(200);
    await service.close();
  });

  test("may not call without CORS_ORIGINS, and a preflight then needs a key, too", async () => {
    const answer = await preflight(keyed, PAGE);
    expect(answer.status).toBe(401);
    const read = await keyed.get(LIST, { ...KEY, origin: PAGE });
    for (const name of CORS_HEADERS) expect([answer.headers.get(name), read.headers.get(name)]).toEqual([null, null]);
  });
});

describe("a service without keys", () => {
  const OWN_NAMES = ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.9.8.7", "[::1]:8000", "[::1]"];
  test.each([...OWN_NAMES, "chat.home.arpa", "Chat.Home.Arpa:443", "192.0.2.7:80"])("answers under its own name %s", async (host) => {
    expect((await askAs(open, host, LIST)).status).toBe(200);
  });

  test.each([
    ...["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:localhost"],
    ...["[evil.example]:8000", "127.evil", "sub.chat.home.arpa", "192.0.2.8", "[::2]", "localhost@evil.example", "localhost:8000:8000"],
  ])("refuses the host %j, whatever a forwarded name says", async (host) => {
    for (const path of [LIST, "/", "/assets/main.js", "/openapi.json", "/v1/models", "/nothing"]) {
      const { status, text } = await askAs(open, host, path, { "x-forwarded-host": "localhost", "sec-fetch-site": "same-origin" });
      expect({ path, status, text }).toMatchObject({ path, status: 421 });
      expect((JSON.parse(text) as { error: object }).error).toMatchObject({ code: "misdirected_request" });
      expect(text).toContain("ALLOWED_HOSTS");
    }
    expect((await askAs(open, host, WRITE, {}, "POST")).status).toBe(421);
  });

  test.each(["/healthz", "/readyz", "/api/v1/health"])(
    "answers %s to a probe that uses a pod's address, and under no other name",
    async (path) => {
      const hosts = ["10.1.2.3:8000", "[fd00::7]:8000", "evil.example:8000"];
      expect(await Promise.all(hosts.map(async (host) => (await askAs(open, host, path)).status))).toEqual([200, 200, 421]);
    },
  );

  test("changes nothing for a page of another site on any route, and lets a followed link read", async () => {
    const headers = { "sec-fetch-site": "cross-site", origin: EVIL, "content-type": "text/plain" };
    for (const route of await routesOfService(open.url)) {
      if (route.method === "GET") continue;
      const address = open.url + addressOf(route, { id: ID, kb: "travel", section: "profile" });
      const answer = await callApi(address, { method: route.method, headers, body: "{}" });
      expect({ route: route.path, status: answer.status }).toEqual({ route: route.path, status: 403 });
      if (!route.path.startsWith("/v1")) expectRefusal(answer, { status: 403, code: "forbidden", says: /another site.*CORS_ORIGINS/ });
    }
    expect((await callApi(`${open.url}/api/v1/jobs`, { headers })).status).toBe(200);
  });

  test("changes what its own page asks for, even behind a proxy that ends TLS, and nothing for other origins and ports", async () => {
    const { host, port } = new URL(open.url);
    const own = ["same-origin", "none", undefined].map((site): [Headers, number] => [{ "sec-fetch-site": site }, 200]);
    const others = [EVIL, "http://127.0.0.1:9", "http://127.0.0.1", `http://localhost:${port}`, "null", "nonsense", ""];
    for (const [headers, status] of [
      ...own,
      [{ origin: `http://${host}`, "sec-fetch-site": "same-origin" }, 200],
      [{ origin: `https://${host}` }, 200],
      [{ "sec-fetch-site": "same-site", origin: "http://localhost:9" }, 403],
      [{ "sec-fetch-site": "same-site" }, 403],
      ...others.map((origin): [Headers, number] => [{ origin }, 403]), // as an older browser sends it
    ] satisfies [Headers, number][]) {
      expect({ headers, status: await write(open, headers) }).toEqual({ headers, status });
    }
  });
});

describe("a service with keys", () => {
  test("answers under every name", async () => {
    expect((await askAs(keyed, "chat.example.org", LIST, KEY)).status).toBe(200);
    expect((await askAs(keyed, "evil.example", "/readyz")).status).toBe(200);
  });

  test.each([
    ["same-origin", 200],
    [undefined, 200],
    ["same-site", 403],
    ["cross-site", 403],
  ])("behind a proxy that hides its public name answers a page whose sec-fetch-site is %s with %i", async (site, status) => {
    expect(await write(keyed, { ...KEY, origin: PAGE, "sec-fetch-site": site })).toBe(status);
  });
});
