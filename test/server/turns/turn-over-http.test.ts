import { describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { listMessages, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { connectTo, parseChunkedResponse, postBytes, type RawConnection } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const LAST_CHUNK = "\r\n0\r\n\r\n";
const HEARTBEAT = ": heartbeat\n\n";
const TOKENS = ["Hello", " 世界,\n", '"😀"\r\n', "id: 7\ndata: {}\n\n", "\u2028end"];

const frame = (id: string, event: unknown): string => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;

describe("the bytes of a chat stream", () => {
  const running = useServiceWithModel({}, { heartbeatMs: 100 });

  async function post(sessionId: string, headers: Record<string, string> = {}): Promise<RawConnection> {
    const connection = await connectTo(running.url);
    connection.socket.write(postBytes("/api/v1/chat/stream", { user_id: "ada", session_id: sessionId, message: "hi" }, headers));
    return connection;
  }
  async function readStream(sessionId: string) {
    const connection = await post(sessionId);
    await connection.until(LAST_CHUNK);
    connection.socket.destroy();
    const { chunks, ...head } = parseChunkedResponse(connection.received());
    const sent = chunks.join("");
    return { ...head, sent, body: sent.replaceAll(HEARTBEAT, ""), turn: head.headers["x-turn-id"]?.slice(-8) };
  }

  test("are a chunked 200 with the headers of an uncached, unbuffered event stream", async () => {
    running.model.answer({ tokens: TOKENS });
    const { statusLine, headers } = await readStream("headers");
    expect(statusLine).toBe("HTTP/1.1 200 OK");
    expect(headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-store, no-transform",
      "x-accel-buffering": "no",
      "x-turn-id": expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      date: expect.any(String),
      connection: "keep-alive",
      "keep-alive": expect.any(String),
      "transfer-encoding": "chunked",
      "x-request-id": expect.any(String),
      "x-content-type-options": "nosniff",
    });
    expect(Object.keys(headers).filter((name) => /length|encoding|etag|powered/.test(name))).toEqual(["transfer-encoding"]);
  });

  test("are one id line, one data line and an empty line per event, with line breaks inside a token escaped", async () => {
    running.model.answer({ tokens: TOKENS });
    const { body, turn } = await readStream("frames");
    const route = { kb_prefix: "general", worker_name: "general:hybrid_agent", confidence: 1, method: "default" };
    const sent = (index: number): number => TOKENS.slice(0, index + 1).join("").length;
    const expected = [
      frame(`1.0.${turn}`, { status: "route_decision", content: { ...route, reason: "there is no knowledge base" } }),
      ...TOKENS.map((content, index) => frame(`${index + 2}.${sent(index)}.${turn}`, { status: "token", content })),
    ].join("");
    expect(body.slice(0, expected.length)).toBe(expected);
    const last = body.slice(expected.length);
    const lastId = `7.${sent(TOKENS.length - 1)}.${turn}`;
    const done: unknown = JSON.parse(last.replace(`id: ${lastId}\ndata: `, ""));
    expect(done).toMatchObject({ status: "done", content: { answer: TOKENS.join("") } });
    expect(last).toBe(frame(lastId, done));
  });

  test("end so that the connection serves the next request, or closes when the client asked for that", async () => {
    running.model.answer({ tokens: TOKENS });
    const connection = await post("again");
    await connection.until(LAST_CHUNK);
    connection.socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await connection.until('{"status":"alive"}');
    connection.socket.destroy();
    const closing = await post("close", { connection: "close" });
    await closing.closed;
    expect(closing.received().endsWith(LAST_CHUNK)).toBe(true);
  });

  test("have heartbeats as comments while the model is silent, which do not count in the ids of events", async () => {
    running.model.answer({ tokens: ["Hello"], firstTokenMs: 1_000 });
    const { sent, body, turn } = await readStream("heartbeat");
    expect(sent.slice(0, sent.indexOf('"status":"token"')).split(HEARTBEAT).length - 1).toBeGreaterThanOrEqual(3);
    expect([...body.matchAll(/^id: (.+)$/gm)].map(([, id]) => id)).toEqual(["1.0", "2.5", "3.5"].map((place) => `${place}.${turn}`));
    expect(body).not.toMatch(/^:/m);
  });
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NODES = ["core_memory", "generate", "history", "persist", "retrieve", "route"];

describe("a turn over HTTP", () => {
  const running = useServiceWithModel({ CONTEXT_TOKEN_BUDGET: "256" });

  const ask = (sessionId: string, fields: object = {}) =>
    postTurn(running.url, { user_id: "ada", session_id: sessionId, message: "hello", ...fields });

  test('is answered whole by /api/v1/chat with the fields of "done", and is stored with the ids that the client gets', async () => {
    running.model.answer({ tokens: ["All", " of it"] });
    const body = { user_id: "ada", session_id: "whole", message: "question" };
    const { status, headers, json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    const counted = { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102, estimated: false };
    const usage = { ...counted, cached_tokens: null, context_limit: 256, usage_ratio: 0.3906 };
    expect(json).toEqual({
      answer: "All of it",
      conversation_id: expect.stringMatching(UUID),
      message_id: expect.stringMatching(UUID),
      completed: true,
      cut: null,
      usage,
      cost: null,
      timings: { total_ms: expect.any(Number), first_token_ms: expect.any(Number), nodes: expect.any(Object), started: expect.any(Object) },
      receipt: { summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [], prompt_tokens: expect.any(Object) },
      degraded: [],
      agent: "assistant",
      model: "test-chat",
      tool_calls: 0,
      steps: 0,
    });
    for (const times of [json.timings.nodes, json.timings.started]) expect(Object.keys(times).sort()).toEqual(NODES);
    const turnId = headers.get("x-turn-id");
    const common = { completed: true, created_at: expect.any(String), rating: null };
    expect(await listMessages(running.url, json.conversation_id)).toEqual([
      { ...common, id: expect.stringMatching(UUID), role: "user", content: "question", metadata: { turn_id: turnId } },
      {
        ...common,
        id: json.message_id,
        role: "assistant",
        content: "All of it",
        metadata: {
          turn_id: turnId,
          model: "test-chat",
          worker_name: "general:hybrid_agent",
          usage,
          route: expect.objectContaining({ kb_prefix: "general", method: "default" }),
          citations: [],
          episodes: [],
          core_memory: [],
        },
      },
    ]);
    const next = await ask("whole");
    const streamed = contentOf(next.events, "done");
    expect(Object.keys(streamed).sort()).toEqual(Object.keys(json).sort());
    expect(streamed).toMatchObject({ conversation_id: json.conversation_id, receipt: { window_messages: 2 } });
    expect(next.headers.get("x-turn-id")).toMatch(UUID);
    expect(next.headers.get("x-turn-id")).not.toBe(turnId);
  });

  test("asks the model for at most 2,000 tokens, and reports an answer that was cut", async () => {
    running.model.answer({ tokens: ["As long as", " it gets"], ending: "length" });
    const { events } = await ask("cut");
    expect(running.model.seen.at(-1)?.body).toMatchObject({ max_tokens: 2_000 });
    const done = contentOf(events, "done");
    expect(done).toMatchObject({ completed: true, cut: "length" });
    const [, answer] = await listMessages(running.url, done.conversation_id);
    expect(answer).toMatchObject({ completed: true, metadata: { cut: "length" } });
    expect((await readMetrics(running.url)).samples.get("conversation_graph_turns_cut_total")).toBe(1);
    const completion = { model: "conversation-graph", messages: [{ role: "user", content: "cut" }] };
    const { json } = await postJson<{ choices: object[] }>(`${running.url}/v1/chat/completions`, completion);
    expect(json.choices).toMatchObject([{ finish_reason: "length" }]);
  });

  test("reports that the model's limit is too small for its thoughts, and does not ask twice", async () => {
    running.model.answer({ tokens: [], ending: "length" });
    const before = running.model.seen.length;
    const { events } = await ask("thoughts");
    expect(contentOf(events, "error")).toMatchObject({
      code: "model_out_of_tokens",
      message: expect.stringContaining("MAX_ANSWER_TOKENS"),
    });
    expect(running.model.seen).toHaveLength(before + 1);
  });

  test("gives a notice when a message does not fit the model", async () => {
    const { events } = await ask("notice", { message: "many words about it ".repeat(40) });
    const message = expect.stringMatching(/256 tokens.*1 long message is shortened/);
    expect(contentOf(events, "notice")).toEqual({ code: "context_trimmed", message });
  });

  test.each([
    [{ agent_type: "chat_agent" }, "general:chat_agent", "rule"],
    [{ kb_prefix: "general" }, "general:hybrid_agent", "requested"],
    [{ kb_prefix: null, agent_type: "naive_rag_agent" }, "general:naive_rag_agent", "default"],
  ])("with %j is routed as it asks, to %s", async (fields, worker_name, method) => {
    running.model.answer({ tokens: ["answer"] });
    expect(contentOf((await ask("route", fields)).events, "route_decision")).toMatchObject({ kb_prefix: "general", worker_name, method });
  });
});
