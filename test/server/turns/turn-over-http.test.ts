import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { listMessages, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NODES = ["core_memory", "generate_rag", "history", "persist", "retrieve", "route"];

describe("a turn over HTTP", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({ CONTEXT_TOKEN_BUDGET: "256" });
  });
  afterAll(() => running.close());

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });

  test("streams the route, then each token, then done with the same answer", async () => {
    running.model.answer({});
    const { status, headers, events } = await postTurn(running.url, ask("stream"));
    expect(status).toBe(200);
    expect(headers.get("x-turn-id")).toMatch(UUID);
    const turn = headers.get("x-turn-id")?.slice(-8);
    const placeOf = (index: number): string => `${index + 1}.${tokenText(events.slice(0, index + 1)).length}.${turn}`;
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => placeOf(index)));
    expect(events.map(({ data }) => data.status)).toEqual(["route_decision", ...Array.from({ length: 40 }, () => "token"), "done"]);
    expect(contentOf(events, "done")).toMatchObject({
      answer: tokenText(events),
      completed: true,
      usage: { prompt_tokens: 100, completion_tokens: 40, total_tokens: 140, estimated: false },
      degraded: [],
    });
  });

  test("sends tokens while the model is still speaking", async () => {
    running.model.answer({ tokens: ["one ", "two ", "three"], betweenMs: 300 });
    const { events } = await postTurn(running.url, ask("spread"));
    const [first, , last] = events.filter(({ data }) => data.status === "token").map(({ at }) => at);
    expect((last ?? 0) - (first ?? 0)).toBeGreaterThan(300);
  });

  test("is answered whole by /api/v1/chat, with what done carries", async () => {
    running.model.answer({ tokens: ["All", " of it"] });
    const { status, headers, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, ask("whole"));
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(json).toEqual({
      answer: "All of it",
      conversation_id: expect.stringMatching(UUID),
      message_id: expect.stringMatching(UUID),
      completed: true,
      usage: { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false },
      timings: { total_ms: expect.any(Number), first_token_ms: expect.any(Number), nodes: expect.any(Object), started: expect.any(Object) },
      receipt: { summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [], prompt_tokens: expect.any(Object) },
      degraded: [],
    });
    expect(Object.keys(json.timings.nodes).sort()).toEqual(NODES);
    expect(Object.keys(json.timings.started).sort()).toEqual(NODES);
    const streamed = contentOf((await postTurn(running.url, ask("whole"))).events, "done");
    expect(Object.keys(streamed).sort()).toEqual(Object.keys(json).sort());
    expect(streamed).toMatchObject({ conversation_id: json.conversation_id, receipt: { window_messages: 2 } });
  });

  test("is stored under the ids that the client was given", async () => {
    running.model.answer({ tokens: ["answer"] });
    const { headers, events } = await postTurn(running.url, ask("ids", { message: "question" }));
    const done = contentOf(events, "done");
    const turnId = headers.get("x-turn-id");
    expect(await listMessages(running.url, done.conversation_id)).toEqual([
      {
        id: expect.stringMatching(UUID),
        role: "user",
        content: "question",
        completed: true,
        created_at: expect.any(String),
        metadata: { turn_id: turnId },
      },
      {
        id: done.message_id,
        role: "assistant",
        content: "answer",
        completed: true,
        created_at: expect.any(String),
        metadata: { turn_id: turnId, worker_name: "general:hybrid_agent", usage: done.usage },
      },
    ]);
  });

  test("has a turn id of its own each time, from both endpoints", async () => {
    running.model.answer({ tokens: ["answer"] });
    const first = await postTurn(running.url, ask("turn-ids"));
    const second = await postJson(`${running.url}/api/v1/chat`, ask("turn-ids"));
    expect(second.headers.get("x-turn-id")).toMatch(UUID);
    expect(second.headers.get("x-turn-id")).not.toBe(first.headers.get("x-turn-id"));
  });

  test("estimates the usage, and says so, when the model's server counts nothing", async () => {
    running.model.answer({ tokens: ["four ", "times ", "four ", "letters"], withoutUsage: true });
    const { usage } = contentOf((await postTurn(running.url, ask("usage"))).events, "done");
    expect(usage.estimated).toBe(true);
    expect(usage.completion_tokens).toBeGreaterThan(2);
    expect(usage.prompt_tokens).toBeGreaterThan(20);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });

  test("tells each node's run in debug, and none otherwise", async () => {
    running.model.answer({ tokens: ["answer"] });
    const secret = "the words of the message";
    const { events } = await postTurn(running.url, ask("debug", { debug: true, message: secret }));
    const logs = events.flatMap(({ data }) => (data.status === "execution_log" ? [data.content] : []));
    expect(logs.map(({ node }) => node).sort()).toEqual(NODES);
    for (const { ms } of logs) expect(ms).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(logs)).not.toContain(secret);
    expect(events.at(-1)?.data.status).toBe("done");

    const quiet = await postTurn(running.url, ask("debug", { debug: false }));
    expect(quiet.events.map(({ data }) => data.status)).toEqual(["route_decision", "token", "done"]);
  });

  test("gives notice when a long earlier message does not fit the model, and shortens just that", async () => {
    running.model.answer({ tokens: ["short answer"] });
    const long = `long ago ${"many words about it ".repeat(40)}`;
    const first = await postTurn(running.url, ask("notice", { message: long }));
    expect(contentOf(first.events, "notice").message).toMatch(/1 long message is shortened/); // it is the current one

    const { events } = await postTurn(running.url, ask("notice", { message: "and now?" }));
    expect(contentOf(events, "notice")).toEqual({
      code: "context_trimmed",
      message: expect.stringMatching(/256 tokens.*1 long message is shortened/),
    });
    expect(contentOf(events, "done").receipt.window_messages).toBe(2);
    const [, shortened, ...others] = running.model.seen.at(-1)?.body.messages.map(({ content }) => content) ?? [];
    expect(shortened).toMatch(/^long ago many words/);
    expect(shortened?.length).toBeLessThan(long.length / 2);
    expect(others).toEqual(["short answer", "and now?"]);
  });

  test("gives notice when earlier messages do not fit the model, and leaves exactly those out", async () => {
    running.model.answer({ tokens: ["a word more ".repeat(8)] });
    const messages = ["one", "two", "three", "four"].map((name) => `${name} ${"of so many ".repeat(8)}`);
    for (const message of messages) await postTurn(running.url, ask("left out", { message }));
    const { events } = await postTurn(running.url, ask("left out", { message: "and now?" }));
    const [, leftOut] = /256 tokens: the oldest (\d) recent messages are left out/.exec(contentOf(events, "notice").message) ?? [];
    expect(Number(leftOut)).toBeGreaterThan(0);
    const kept = contentOf(events, "done").receipt.window_messages;
    expect(kept).toBe(8 - Number(leftOut));
    const all = messages.flatMap((message) => [message, "a word more ".repeat(8)]);
    const prompt = running.model.seen.at(-1)?.body.messages.map(({ content }) => content);
    expect(prompt?.slice(1)).toEqual([...all.slice(8 - kept), "and now?"]);
  });

  test.each([
    [{ agent_type: "chat_agent" }, { kb_prefix: "general", worker_name: "general:chat_agent", method: "rule" }],
    [{ kb_prefix: "general" }, { kb_prefix: "general", worker_name: "general:hybrid_agent", method: "requested" }],
    [
      { kb_prefix: null, agent_type: "naive_rag_agent" },
      { worker_name: "general:naive_rag_agent", method: "default" },
    ],
  ])("with %j is routed as asked", async (fields, decision) => {
    running.model.answer({ tokens: ["answer"] });
    const { events } = await postTurn(running.url, ask("route", fields));
    expect(contentOf(events, "route_decision")).toMatchObject(decision);
  });
});
