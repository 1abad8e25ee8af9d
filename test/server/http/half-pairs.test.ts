import { beforeAll, describe, expect, test } from "@jest/globals";
import { postJson } from "../../support/clients/api-client.ts";
import { addressOf, type AppRoute, routesOfService } from "../../support/clients/app-routes.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { useTestService } from "../../support/services/service.ts";

const UUID = "00000000-0000-7000-8000-000000000000";
const TAKES_BODY = new Set(["POST", "PUT", "PATCH"]);

const BODIES: [where: string, body: string, field: string][] = [
  ["a text", String.raw`{"user_id":"ada","metadata":{"a":["fine","\ud83d\ude00 \ud800"]}}`, "metadata.a.1"],
  ["a name of a field", String.raw`{"metadata":{"\uDC00":1}}`, "metadata.\ufffd"],
  ["a name of a field deep inside", `${'{"a":'.repeat(20)}{"b\\udfff":1}${"}".repeat(20)}`, `${"a.".repeat(20)}b\ufffd`],
];

describe("half of a surrogate pair", () => {
  const service = useTestService({ ENABLE_CORE_MEMORY: "true" }, IN_THIS_PROCESS);
  let routes: AppRoute[];
  beforeAll(async () => void (routes = (await routesOfService(service.url)).filter(({ method }) => TAKES_BODY.has(method))));

  test.each(BODIES)("in %s of a body is refused by every route that reads JSON, and the field is named", async (_where, body, field) => {
    const refused: string[] = [];
    for (const route of routes) {
      const { status, text } = await postJson(service.url + addressOf(route, { user_id: "ada" }, UUID), body, {}, route.method);
      if (text.includes("half of a surrogate pair")) {
        expect({ route, status }).toEqual({ route, status: 400 });
        expect(text).toContain(`${field}: holds half`);
        refused.push(`${route.method} ${route.path}`);
      } else expect({ route, status, isRead: status === 400 }).toEqual({ route, status: expect.any(Number), isRead: false });
    }
    const some = ["/api/v1/chat", "/langgraph/threads", "/langgraph/threads/search", "/v1/conversations", "/v1/responses", "/mcp"];
    expect(refused).toEqual(expect.arrayContaining(some.map((path) => `POST ${path}`)));
  });

  test.each([
    ["a pair", String.raw`"\ud83d\ude00"`],
    ["what only looks like an escape", String.raw`"\\ud800"`],
  ])("is not found in %s", async (_what, spelt) => {
    const { status, json } = await postJson(`${service.url}/langgraph/threads`, `{"metadata":{"a":${spelt}}}`);
    expect({ status, json }).toMatchObject({ status: 200, json: { metadata: { a: JSON.parse(spelt) as string } } });
  });
});
