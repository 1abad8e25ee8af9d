import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { postTurn } from "../../support/clients/event-client.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

const ALWAYS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
};
const OVER_HTTPS = { "x-forwarded-proto": "https" };

describe("security headers", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ API_KEYS: "key-of-acme:acme" });
  });
  afterAll(() => service.close());

  test.each([
    ["an answer without a key", "/healthz", {}, 200],
    ["a refusal", "/api/v1/conversations", {}, 401],
    ["an unknown route", "/nothing", { authorization: "Bearer key-of-acme" }, 404],
    ["a bad request", "/api/v1/conversations", { authorization: "Bearer key-of-acme" }, 400],
    ["a broken address", "/api/v1/users/%ff/core-memory", { authorization: "Bearer key-of-acme" }, 400],
  ])("are on %s", async (_name, path, headers, status) => {
    const answer = await fetch(service.url + path, { headers });
    await answer.text();
    expect(answer.status).toBe(status);
    for (const [header, value] of Object.entries(ALWAYS)) expect(answer.headers.get(header)).toBe(value);
    expect(answer.headers.has("x-powered-by")).toBe(false);
  });

  test("are on a stream, too", async () => {
    const body = { user_id: "ada", session_id: "s", message: "hello" };
    const { headers } = await postTurn(service.url, body, { headers: { authorization: "Bearer key-of-acme" } });
    const { "cache-control": stored, ...others } = ALWAYS;
    for (const [header, value] of Object.entries(others)) expect(headers.get(header)).toBe(value);
    expect(headers.get("cache-control")).toContain(stored);
    expect(headers.get("content-type")).toContain("text/event-stream");
  });

  test("ask for https only of who came over it, as a trusted proxy tells", async () => {
    const trusting = await openTestService({ TRUST_PROXY: "loopback" });
    expect((await trusting.get("/healthz", OVER_HTTPS)).headers.get("strict-transport-security")).toMatch(/^max-age=\d{7,}/);
    expect((await trusting.get("/healthz")).headers.get("strict-transport-security")).toBeNull();
    await trusting.close();
    expect((await service.get("/healthz", OVER_HTTPS)).headers.get("strict-transport-security")).toBeNull();
    const elsewhere = await openTestService({ TRUST_PROXY: "10.0.0.0/8" });
    expect((await elsewhere.get("/healthz", OVER_HTTPS)).headers.get("strict-transport-security")).toBeNull();
    await elsewhere.close();
  });
});
