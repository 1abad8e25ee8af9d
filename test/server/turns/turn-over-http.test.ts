import { describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { listMessages, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NODES = ["core_memory", "generate_rag", "history", "persist", "retrieve", "route"];

describe("a turn over HTTP", () => {
  const running = useOpened(() => openServiceWithModel({ CONTEXT_TOKEN_BUDGET: "256" }));

  const ask = (sessionId: string, fields: object = {}) =>
    postTurn(running.url, { user_id: "ada", session_id: sessionId, message: "hello", ...fields });

  test("is answered whole by /api/v1/chat, with what done carries, and stored under the ids that the client was given", async () => {
    running.model.answer({ tokens: ["All", " of it"] });
    const body = { user_id: "ada", session_id: "whole", message: "question" };
    const { status, headers, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    const usage = { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false };
    expect(json).toEqual({
      answer: "All of it",
      conversation_id: expect.stringMatching(UUID),
      message_id: expect.stringMatching(UUID),
      completed: true,
      usage,
      timings: { total_ms: expect.any(Number), first_token_ms: expect.any(Number), nodes: expect.any(Object), started: expect.any(Object) },
      receipt: { summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [], prompt_tokens: expect.any(Object) },
      degraded: [],
    });
    for (const times of [json.timings.nodes, json.timings.started]) expect(Object.keys(times).sort()).toEqual(NODES);
    const turnId = headers.get("x-turn-id");
    const common = { completed: true, created_at: expect.any(String) };
    expect(await listMessages(running.url, json.conversation_id)).toEqual([
      { ...common, id: expect.stringMatching(UUID), role: "user", content: "question", metadata: { turn_id: turnId } },
      {
        ...{ ...common, id: json.message_id, role: "assistant", content: "All of it" },
        metadata: { turn_id: turnId, worker_name: "general:hybrid_agent", usage },
      },
    ]);
    const next = await ask("whole");
    const streamed = contentOf(next.events, "done");
    expect(Object.keys(streamed).sort()).toEqual(Object.keys(json).sort());
    expect(streamed).toMatchObject({ conversation_id: json.conversation_id, receipt: { window_messages: 2 } });
    expect(next.headers.get("x-turn-id")).toMatch(UUID);
    expect(next.headers.get("x-turn-id")).not.toBe(turnId);
  });

  test("gives notice when a message does not fit the model", async () => {
    const { events } = await ask("notice", { message: "many words about it ".repeat(40) });
    const message = expect.stringMatching(/256 tokens.*1 long message is shortened/);
    expect(contentOf(events, "notice")).toEqual({ code: "context_trimmed", message });
  });

  test.each([
    [{ agent_type: "chat_agent" }, "general:chat_agent", "rule"],
    [{ kb_prefix: "general" }, "general:hybrid_agent", "requested"],
    [{ kb_prefix: null, agent_type: "naive_rag_agent" }, "general:naive_rag_agent", "default"],
  ])("with %j is routed as asked, to %s", async (fields, worker_name, method) => {
    running.model.answer({ tokens: ["answer"] });
    expect(contentOf((await ask("route", fields)).events, "route_decision")).toMatchObject({ kb_prefix: "general", worker_name, method });
  });
});
