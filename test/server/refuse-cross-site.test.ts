import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { addressOf, routesOfService } from "../support/app-routes.ts";
import { callApi } from "../support/api-client.ts";
import { expectRefusal } from "../support/expect-refusal.ts";
import { openTestService, type TestService } from "../support/service.ts";

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

  test.each([["same-origin"], ["same-site"], ["none"], [undefined]])("does what it is asked with Sec-Fetch-Site %s", async (site) => {
    const headers = site === undefined ? {} : { "sec-fetch-site": site };
    expect((await callApi(`${service.url}/api/v1/jobs/retry`, { method: "POST", headers })).status).toBe(200);
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
