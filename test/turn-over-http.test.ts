import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { contentOf, postTurn, tokenText } from "./support/event-client.ts";
import { startModelServer, type ModelServer } from "./support/model-server.ts";
import { openTestService, type TestService } from "./support/service.ts";

describe("POST /api/v1/chat/stream", () => {
  let model: ModelServer;
  let service: TestService;
  beforeAll(async () => {
    model = await startModelServer();
    service = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat" });
  });
  afterAll(async () => {
    await service.close();
    await model.close();
  });

  test("streams the route, then each token, then done with the same answer", async () => {
    const { status, headers, events } = await postTurn(service.url, { user_id: "ada", session_id: "s", message: "hello" });
    expect(status).toBe(200);
    expect(headers.get("x-turn-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => String(index + 1)));
    expect(events.map(({ data }) => data.status)).toEqual(["route_decision", ...Array.from({ length: 40 }, () => "token"), "done"]);
    expect(contentOf(events, "done")).toMatchObject({
      answer: tokenText(events),
      completed: true,
      usage: { prompt_tokens: 100, completion_tokens: 40, estimated: false },
      degraded: [],
    });
  });
});
