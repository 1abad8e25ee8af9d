import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";

describe("the ids . and .., which no address can hold, are refused", () => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ ENABLE_CORE_MEMORY: "true" });
  });
  afterAll(() => service.close());

  const messages = [{ role: "user", content: "hello" }];
  const DOTS = [".", ".."];

  test.each(DOTS)("as user, session and knowledge base in bodies and queries: %s", async (dots) => {
    const wrong = { user_id: { user_id: dots, session_id: "s" }, session_id: { user_id: "ada", session_id: dots } };
    const says = /cannot be "\." or "\.\."/;
    for (const [field, ids] of Object.entries(wrong)) {
      const refusal = { status: 400, code: "invalid_request", field, says };
      for (const path of ["/chat", "/chat/stream", "/conversations/import"]) {
        const rest = path.endsWith("import") ? { messages } : { message: "hello" };
        expectRefusal(await postJson(`${service.url}/api/v1${path}`, { ...ids, ...rest }), refusal);
      }
    }
    const listed = await callApi(`${service.url}/api/v1/conversations?user_id=${dots}`);
    expectRefusal(listed, { status: 400, code: "invalid_request", field: "user_id", says });
    const body = { user_id: "ada", session_id: "s", message: "hello", kb_prefix: dots };
    expectRefusal(await postJson(`${service.url}/api/v1/chat`, body), { status: 400, code: "invalid_request", field: "kb_prefix" });
    for (const header of ["X-User-Id", "X-Session-Id"]) {
      const request = { model: "conversation-graph", messages };
      const { status, json } = await postJson(`${service.url}/v1/chat/completions`, request, { [header]: dots });
      expect({ status, message: json.error.message }).toMatchObject({ status: 400, message: expect.stringMatching(/cannot be/) });
    }
  });

  test.each(DOTS.flatMap((dots) => [`users/${dots}/core-memory`, `users/ada/core-memory/${dots}/history`, `knowledge/${dots}/documents`]))(
    "as a name in a path that was not resolved on its way: %s",
    async (path) => {
      const connection = await connectTo(service.url);
      connection.socket.write(`GET /api/v1/${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      await connection.closed;
      expect(connection.received()).toMatch(/^HTTP\/1.1 400 /);
    },
  );
});
