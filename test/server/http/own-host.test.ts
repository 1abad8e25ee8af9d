import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openTestService, type TestService } from "../../support/services/service.ts";

interface Answer {
  status: number | undefined;
  text: string;
}

/** A request with this Host, which fetch may not set; undefined: none, as HTTP/1.0 may. */
async function askAs(
  service: TestService,
  host: string,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  request(service.url + path, { method, headers: { host, ...headers } }, (response) => {
    let text = "";
    response
      .setEncoding("utf8")
      .on("data", (piece: string) => (text += piece))
      .on("end", () => resolve({ status: response.statusCode, text }));
  })
    .on("error", reject)
    .end();
  return promise;
}

const LIST = "/api/v1/conversations?user_id=ada";
const WRITE = "/api/v1/jobs/retry";

describe("a service without keys", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ ALLOWED_HOSTS: "chat.home.arpa, 192.0.2.7", TRUST_PROXY: "loopback" });
  });
  afterAll(() => service.close());

  test.each([
    "localhost",
    "LOCALHOST:8000",
    "127.0.0.1:1",
    "127.9.8.7",
    "[::1]:8000",
    "[::1]",
    "chat.home.arpa",
    "Chat.Home.Arpa:443",
    "192.0.2.7:80",
  ])("answers as %s", async (host) => {
    expect((await askAs(service, host, LIST)).status).toBe(200);
  });

  test.each([
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil.example:localhost",
    "[evil.example]:8000",
    "127.evil",
    "sub.chat.home.arpa",
    "192.0.2.8",
    "[::2]",
    "localhost@evil.example",
    "localhost:8000:8000",
  ])("refuses what is meant for the host %j, whatever a forwarded name says", async (host) => {
    for (const path of [LIST, "/", "/assets/main.js", "/openapi.json", "/v1/models", "/nothing"]) {
      const { status, text } = await askAs(service, host, path, { "x-forwarded-host": "localhost", "sec-fetch-site": "same-origin" });
      expect({ path, status, text }).toMatchObject({ path, status: 421 });
      expect((JSON.parse(text) as { error: object }).error).toMatchObject({ code: "misdirected_request" });
      expect(text).toContain("ALLOWED_HOSTS");
    }
    expect((await askAs(service, host, WRITE, {}, "POST")).status).toBe(421);
  });

  test.each(["/healthz", "/readyz"])("answers %s to a probe by the address of a pod, and to no other name", async (path) => {
    expect((await askAs(service, "10.1.2.3:8000", path)).status).toBe(200);
    expect((await askAs(service, "[fd00::7]:8000", path)).status).toBe(200);
    expect((await askAs(service, "evil.example:8000", path)).status).toBe(421);
  });
});

test("a service with keys answers under every name", async () => {
  const service = await openTestService({ API_KEYS: "key-of-acme:acme" });
  expect((await askAs(service, "chat.example.org", LIST, { authorization: "Bearer key-of-acme" })).status).toBe(200);
  expect((await askAs(service, "evil.example", "/readyz")).status).toBe(200);
  await service.close();
});
