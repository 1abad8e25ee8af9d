import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openTestService, type TestService } from "../../support/services/service.ts";

const PAGE = "https://chat.example.org";
const KEYS = { API_KEYS: "key-of-acme:acme" };
const KEY = { authorization: "Bearer key-of-acme" };
const NAMES = ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id", "x-session-id"];

const CORS_HEADERS = ["allow-origin", "allow-methods", "allow-headers", "expose-headers"].map((name) => `access-control-${name}`);

/** A browser's question whether a page may send this request. */
async function preflight(service: TestService, origin: string, path = "/api/v1/chat"): Promise<Response> {
  const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" };
  return fetch(service.url + path, { method: "OPTIONS", headers });
}
const allowed = ({ headers }: { headers: Headers }): string | null => headers.get("access-control-allow-origin");

describe("with CORS_ORIGINS", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ ...KEYS, CORS_ORIGINS: `${PAGE}, https://other.example.org:8443` });
  });
  afterAll(() => service.close());

  test("a preflight is answered without a key, for any route", async () => {
    for (const path of ["/api/v1/chat", "/api/v1/users/ada", "/v1/chat/completions"]) {
      const answer = await preflight(service, PAGE, path);
      expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 204, body: "" });
      expect(allowed(answer)).toBe(PAGE);
      expect(answer.headers.get("access-control-allow-methods")?.split(",")).toEqual(["GET", "HEAD", "POST", "PUT", "DELETE"]);
      expect(answer.headers.get("access-control-allow-headers")?.split(",")).toEqual(NAMES);
      expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
    }
  });

  test("a page of a given origin may read answers and refusals, and the headers it needs", async () => {
    for (const [headers, status] of [[KEY, 200] as const, [{}, 401] as const]) {
      const answer = await service.get("/api/v1/conversations?user_id=ada", { ...headers, origin: "https://other.example.org:8443" });
      expect(answer.status).toBe(status);
      expect(allowed(answer)).toBe("https://other.example.org:8443");
      expect(answer.headers.get("vary")).toContain("Origin");
      for (const name of ["x-turn-id", "retry-after", "x-request-id", "etag", "location"]) {
        expect(answer.headers.get("access-control-expose-headers")).toContain(name);
      }
    }
  });

  test.each([
    "https://chat.example.org.evil.example",
    "http://chat.example.org",
    "https://chat.example.org:8443",
    "https://sub.chat.example.org",
    "https://CHAT.example.org",
    "null",
    "*",
  ])("a page of another origin may not: %s", async (origin) => {
    expect(allowed(await preflight(service, origin))).toBeNull();
    expect(allowed(await service.get("/healthz", { origin }))).toBeNull();
  });

  test("whoever sends no origin is served as ever", async () => {
    expect((await service.get("/api/v1/conversations?user_id=ada", KEY)).status).toBe(200);
  });
});

test("with CORS_ORIGINS=* any page may call, with a key", async () => {
  const service = await openTestService({ ...KEYS, CORS_ORIGINS: "*" });
  expect(allowed(await preflight(service, "https://any.example"))).toBe("*");
  expect((await service.get("/api/v1/conversations?user_id=ada", { origin: "https://any.example" })).status).toBe(401);
  await service.close();
});

test("without CORS_ORIGINS no page may call, and a preflight needs a key like anything else", async () => {
  const service = await openTestService(KEYS);
  const answer = await preflight(service, PAGE);
  expect(answer.status).toBe(401);
  for (const name of CORS_HEADERS) expect(answer.headers.get(name)).toBeNull();
  const read = await service.get("/api/v1/conversations?user_id=ada", { ...KEY, origin: PAGE });
  for (const name of CORS_HEADERS) expect(read.headers.get(name)).toBeNull();
  await service.close();
});
