import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openService, type Service } from "../../server/index.ts";
import { callApi, postJson } from "../support/clients/api-client.ts";

describe("the service in the process of its caller", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({
      DATA_DIR: "memory://",
      SUMMARY_MIN_MESSAGES: 4,
      ENABLE_SUMMARY: true,
      LOG_LEVEL: "silent",
      TIME_ZONE: undefined,
    });
  });
  afterAll(() => service.close());

  test("remembers across sessions, and serves the same memory over HTTP", async () => {
    const { conversation_id: conversationId } = await service.ask({ userId: "ada", sessionId: "monday", message: "I live in Lisbon." });
    expect(await service.settle({ userId: "ada", conversationId })).toBe(true);
    const server = createServer(service.app).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = { user_id: "ada", session_id: "friday", message: "Where do I live?" };
    const { json } = await postJson<{ answer: string }>(`${url}/api/v1/chat`, body);
    expect(json.answer).toBe('What I know about you: "Lives in Lisbon."');
    expect((await callApi<{ layers: object }>(`${url}/api/v1/status`)).json.layers).toEqual({
      summary: "on",
      core_memory: "on",
      episodic: "on",
      knowledge: "on",
    });
    server.close();
  });

  test("refuses what it cannot answer with the field that is wrong", async () => {
    await expect(service.ask({ userId: "ada", sessionId: "s", message: " " })).rejects.toMatchObject({
      code: "invalid_request",
      details: [{ field: "message" }],
    });
    const unknown = { userId: "ada", sessionId: "s", message: "x", requestedKbPrefix: "nowhere" };
    await expect(service.ask(unknown)).rejects.toMatchObject({ code: "invalid_request" });
  });
});

test("a setting that is wrong or unknown is named", async () => {
  await expect(openService({ SUMMARY_MIN_MESAGES: 4, PORT: 0 })).rejects.toThrow("There is no setting SUMMARY_MIN_MESAGES.");
  await expect(openService({ DATA_DIR: "memory://", HISTORY_WINDOW: "many" })).rejects.toThrow("HISTORY_WINDOW");
});
