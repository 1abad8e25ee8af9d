import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson, type ApiResponse, type ErrorBody } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";

describe.each([".", ".."])("the id %j, which no address can hold,", (dots) => {
  let service: TestService;
  beforeAll(async () => {
    service = await openTestService({ ENABLE_CORE_MEMORY: "true" });
  });
  afterAll(() => service.close());

  const refusesField = (answer: ApiResponse<ErrorBody>, field: string): void =>
    expectRefusal(answer, { status: 400, code: "invalid_request", field, says: /cannot be "\." or "\.\."/ });
  const messages = [{ role: "user", content: "hello" }];

  test("is refused as user and session in bodies and queries", async () => {
    const user = { user_id: dots, session_id: "s" };
    const session = { user_id: "ada", session_id: dots };
    for (const path of ["/api/v1/chat", "/api/v1/chat/stream"]) {
      refusesField(await postJson(service.url + path, { ...user, message: "hello" }), "user_id");
      refusesField(await postJson(service.url + path, { ...session, message: "hello" }), "session_id");
    }
    const imported = `${service.url}/api/v1/conversations/import`;
    refusesField(await postJson(imported, { ...user, messages }), "user_id");
    refusesField(await postJson(imported, { ...session, messages }), "session_id");
    refusesField(await callApi(`${service.url}/api/v1/conversations?user_id=${dots}`), "user_id");
  });

  test("is refused as user and chat of a completion", async () => {
    const complete = (headers: Record<string, string>) =>
      postJson(`${service.url}/v1/chat/completions`, { model: "conversation-graph", messages }, headers);
    for (const header of ["X-User-Id", "X-Session-Id"]) {
      const { status, json } = await complete({ [header]: dots });
      expect({ status, message: json.error.message }).toMatchObject({ status: 400, message: expect.stringMatching(/cannot be/) });
    }
  });

  test("is refused as a name in a path that was not resolved on its way", async () => {
    for (const path of [
      `/api/v1/users/${dots}/core-memory`,
      `/api/v1/users/ada/core-memory/${dots}/history`,
      `/api/v1/knowledge/${dots}/documents`,
    ]) {
      const connection = await connectTo(service.url);
      connection.socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      await connection.closed;
      expect(connection.received()).toMatch(/^HTTP\/1.1 400 /);
    }
  });

  test("is refused as a knowledge base of a turn", async () => {
    const body = { user_id: "ada", session_id: "s", message: "hello", kb_prefix: dots };
    expectRefusal(await postJson(`${service.url}/api/v1/chat`, body), { status: 400, code: "invalid_request", field: "kb_prefix" });
  });
});
