import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { addressOf, routesOfService } from "../../support/clients/app-routes.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

const PAGE = "https://chat.example.org";
const ID = "00000000-0000-7000-8000-000000000000";
/** As a browser sends it for a form or a simple request of another site's page. */
const CROSS_SITE = { "sec-fetch-site": "cross-site", origin: "https://evil.example.org", "content-type": "text/plain" };

describe("a service without keys", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService();
  });
  afterAll(() => service.close());

  test("changes nothing for a page of another site, on any route", async () => {
    for (const route of await routesOfService(service.url)) {
      if (route.method === "GET") continue;
      const address = service.url + addressOf(route, { id: ID, kb: "travel", section: "profile" });
      const answer = await callApi(address, { method: route.method, headers: CROSS_SITE, body: "{}" });
      expect({ route: route.path, status: answer.status }).toEqual({ route: route.path, status: 403 });
      if (!route.path.startsWith("/v1")) expectRefusal(answer, { status: 403, code: "forbidden", says: /another site.*CORS_ORIGINS/ });
    }
  });

  /** The status of a write with these headers. */
  const write = async (headers: Record<string, string>): Promise<number> =>
    (await callApi(`${service.url}/api/v1/jobs/retry`, { method: "POST", headers })).status;

  test.each([["same-origin"], ["none"], [undefined]])("does what it is asked with Sec-Fetch-Site %s", async (site) => {
    expect(await write(site === undefined ? {} : { "sec-fetch-site": site })).toBe(200);
  });

  test("changes nothing for a page of another port, whose site is the same", async () => {
    expect(await write({ "sec-fetch-site": "same-site", origin: "http://localhost:9" })).toBe(403);
    expect(await write({ "sec-fetch-site": "same-site" })).toBe(403);
  });

  test("changes nothing for another origin, though an older browser says nothing of its site", async () => {
    const { port } = new URL(service.url);
    const others = ["https://evil.example", "http://127.0.0.1:9", "http://127.0.0.1", `http://localhost:${port}`, "null", "nonsense", ""];
    for (const origin of others) expect({ origin, status: await write({ origin }) }).toEqual({ origin, status: 403 });
  });

  test("does what its own page asks, also through a proxy that ends TLS", async () => {
    const { host } = new URL(service.url);
    expect(await write({ origin: `http://${host}`, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await write({ origin: `https://${host}` })).toBe(200);
  });

  test("is read by whoever follows a link", async () => {
    expect((await callApi(`${service.url}/api/v1/jobs`, { headers: CROSS_SITE })).status).toBe(200);
  });
});

test.each([
  [PAGE, PAGE, 200],
  [PAGE, "https://evil.example.org", 403],
  [PAGE, "null", 403],
  ["*", "https://any.example.org", 200],
])("with CORS_ORIGINS %s a page of %s gets %i", async (CORS_ORIGINS, origin, status) => {
  const service = await openTestService({ CORS_ORIGINS });
  const headers = { ...CROSS_SITE, origin };
  expect((await callApi(`${service.url}/api/v1/jobs/retry`, { method: "POST", headers })).status).toBe(status);
  await service.close();
});

describe("a service with keys", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ API_KEYS: "key-of-acme:acme" });
  });
  afterAll(() => service.close());

  /** The status of a write with the key and these headers. */
  const write = async (headers: Record<string, string>): Promise<number> =>
    (await callApi(`${service.url}/api/v1/jobs/retry`, { method: "POST", headers: { authorization: "Bearer key-of-acme", ...headers } }))
      .status;

  test("does what its own page asks behind a proxy that hides its public name", async () => {
    expect(await write({ origin: PAGE, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await write({ origin: PAGE })).toBe(200);
  });

  test.each(["same-site", "cross-site"])("changes nothing for a page that is %s, even with a key", async (site) => {
    expect(await write({ origin: PAGE, "sec-fetch-site": site })).toBe(403);
  });
});
