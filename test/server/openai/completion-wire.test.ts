import { describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { connectTo, parseChunkedResponse, postBytes } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { watchResponses } from "../../support/clients/watch-responses.ts";
import { MODEL, says } from "./open-client.ts";

const PATH = "/v1/chat/completions";
const LONG = Array.from({ length: 950 }, () => "\u0001".repeat(1_000));

describe("the bytes of a streamed completion", () => {
  const running = useServiceWithModel({}, { heartbeatMs: 200 });

  const body = (session: string, fields: object = {}) => {
    return { model: MODEL, user: "ada", stream: true, metadata: { session_id: session }, messages: [says("hello")], ...fields };
  };

  test("are those of OpenAI's protocol", async () => {
    running.model.answer({ tokens: ["好", "\nthe\u2028re"] });
    const began = Math.floor(Date.now() / 1_000);
    const connection = await connectTo(running.url);
    connection.socket.write(postBytes(PATH, body("wire", { stream_options: { include_usage: true } })));
    await connection.until("\r\n0\r\n\r\n");
    const { statusLine, headers, chunks } = parseChunkedResponse(connection.received());
    connection.socket.destroy();
    expect(statusLine).toBe("HTTP/1.1 200 OK");
    expect(headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-store, no-transform",
    });
    const turnId = headers["x-turn-id"] ?? "";
    const created = Number(/"created":(\d+)/.exec(chunks.join(""))?.[1]);
    expect(created).toBeGreaterThanOrEqual(began);
    expect(created).toBeLessThanOrEqual(Date.now() / 1_000);
    const chunk = (choices: object[], usage: object | null = null): string =>
      `data: ${JSON.stringify({ id: `chatcmpl-${turnId}`, object: "chat.completion.chunk", created, model: MODEL, choices, usage })}\n\n`;
    const delta = (content: object, finish_reason: string | null = null): string =>
      chunk([{ index: 0, delta: content, logprobs: null, finish_reason }]);
    expect(chunks.join("").replaceAll(": heartbeat\n\n", "")).toBe(
      [
        delta({ role: "assistant", content: "" }),
        delta({ content: "好" }),
        delta({ content: "\nthe\u2028re" }),
        delta({}, "stop"),
        chunk([], { prompt_tokens: 100, completion_tokens: 2, total_tokens: 102 }),
        "data: [DONE]\n\n",
      ].join(""),
    );
  });

  test("begin at the first heartbeat while the model says nothing; an error after that is a frame, and no [DONE] follows", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    running.model.answer({ tokens: [], until: promise, ending: "cut" });
    const connection = await connectTo(running.url);
    connection.socket.write(postBytes(PATH, body("waits")));
    await connection.until(": heartbeat\n\n");
    expect(connection.received()).toContain('"delta":{"role":"assistant","content":""}');
    resolve();
    await connection.until("\r\n0\r\n\r\n");
    connection.socket.destroy();
    const frames = parseChunkedResponse(connection.received())
      .chunks.join("")
      .split("\n\n")
      .filter((frame) => frame.startsWith("data: "));
    expect(JSON.parse(frames.at(-1)?.slice(6) ?? "")).toMatchObject({
      error: { type: "server_error", code: expect.stringMatching(/^model_/) },
    });
    expect(frames).toHaveLength(2);
  });

  test("do not pile up for a client that stops reading, and the turn goes on", async () => {
    running.model.answer({ tokens: LONG });
    const watch = watchResponses(PATH);
    const connection = await connectTo(running.url);
    connection.socket.once("data", () => connection.socket.pause());
    connection.socket.write(postBytes(PATH, body("slow")));
    const watched = await waitUntil("a response that waits for its reader", () =>
      watch.responses.find(({ response }) => response.writableNeedDrain),
    );
    await waitUntil("the stored turn", async () => (await messagesOf(running.url, "ada", "slow"))[1]?.completed);
    expect(watched.mostBuffered).toBeLessThan(1024 * 1024);
    connection.socket.resume();
    await connection.until("data: [DONE]\n\n");
    connection.socket.destroy();
    watch.stop();
  });
});
