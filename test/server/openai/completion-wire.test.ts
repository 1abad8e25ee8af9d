import { describe, expect, test, beforeEach } from "@jest/globals";
import { messagesOf, listConversations, listMessages } from "../../support/clients/api-client.ts";
import { connectTo, parseChunkedResponse, postBytes } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { watchResponses } from "../../support/clients/watch-responses.ts";
import { MODEL, says, failureOf, openClient } from "./open-client.ts";
import { pngUrl } from "../../support/samples/sample-pictures.ts";

const PATH = "/v1/chat/completions";
const LONG = Array.from({ length: 950 }, () => "\u0001".repeat(1_000));
describe("the bytes of a streamed completion", () => {
  const running = useServiceWithModel({}, { heartbeatMs: 200 });

  const body = (session: string, fields: object = {}) => {
    return { model: MODEL, user: "ada", stream: true, metadata: { session_id: session }, messages: [says("hello")], ...fields };
  };

  test("are the bytes of OpenAI's protocol", async () => {
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

  test("begin at the first heartbeat while the model is silent, and a later error is a frame without [DONE]", async () => {
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

  test("do not pile up for a client that stops reading, while the turn goes on", async () => {
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

const shows = (url: string) => ({ type: "image_url" as const, image_url: { url } });
const words = (text: string) => ({ type: "text" as const, text });
describe("pictures from OpenAI's clients", () => {
  const running = useServiceWithModel({ MAX_PICTURES: "2" });
  beforeEach(() => {
    running.model.seen.splice(0);
    running.model.answer({ tokens: ["seen"] });
  });
  const lastContent = (): unknown => running.model.seen.at(-1)?.body.messages.at(-1)?.content;
  const attachmentsOf = async (userId: string) => {
    const [conversation] = await listConversations(running.url, userId);
    const messages = await listMessages(running.url, conversation?.id ?? "");
    return messages.map((message) => ("attachments" in message ? message.attachments : []));
  };

  test("reach the model by chat completions and are listed, and pictures of earlier messages are not taken again", async () => {
    const url = pngUrl(3, 2);
    const { chat } = openClient(running.url);
    const first = { role: "user" as const, content: [words("What is it?"), shows(url)] };
    const answer = await chat.completions.create({ model: MODEL, user: "ada", messages: [first] });
    expect(lastContent()).toEqual([words("What is it?"), shows(url)]);
    const said = { role: "assistant" as const, content: answer.choices[0]?.message.content ?? "" };
    await chat.completions.create({ model: MODEL, user: "ada", messages: [first, said, says("Really?")] });
    expect(lastContent()).toBe("Really?");
    expect(await attachmentsOf("ada")).toEqual([[expect.objectContaining({ media_type: "image/png", width: 3 })], [], [], []]);
  });

  test("without words begin separate chats", async () => {
    const { chat } = openClient(running.url);
    for (const width of [4, 5])
      await chat.completions.create({ model: MODEL, user: "bob", messages: [{ role: "user", content: [shows(pngUrl(width, 2))] }] });
    expect(await listConversations(running.url, "bob")).toHaveLength(2);
  });

  test("reach the model by the Responses API with their detail", async () => {
    const url = pngUrl(6, 2);
    const content = [
      { type: "input_text" as const, text: "What is it?" },
      { type: "input_image" as const, image_url: url, detail: "low" as const },
    ];
    await openClient(running.url).responses.create({ model: MODEL, user: "eve", input: [{ role: "user", content }] });
    expect(lastContent()).toEqual([words("What is it?"), { type: "image_url", image_url: { url, detail: "low" } }]);
  });

  test("are not stored with a response that is not stored", async () => {
    const content = [{ type: "input_image" as const, image_url: pngUrl(7, 2), detail: "auto" as const }];
    await openClient(running.url).responses.create({ model: MODEL, user: "mallory", store: false, input: [{ role: "user", content }] });
    expect(await listConversations(running.url, "mallory")).toEqual([]);
    const exported = await (await fetch(`${running.url}/api/v1/users/mallory/export`)).text();
    expect(exported).not.toContain('"kind":"pictures"');
  });

  test("are refused with their place in the request when they are wrong", async () => {
    const { chat, responses } = openClient(running.url);
    const wrong = shows("http://example.org/cat.png");
    const failure = await failureOf(
      chat.completions.create({ model: MODEL, user: "ada", messages: [{ role: "user", content: [words("a"), wrong] }] }),
    );
    expect(failure).toMatchObject({ status: 400, param: "messages.0.content.1.image_url" });
    const input = [{ role: "user" as const, content: [{ type: "input_image" as const, image_url: "ftp://x", detail: "auto" as const }] }];
    expect(await failureOf(responses.create({ model: MODEL, user: "ada", input }))).toMatchObject({
      status: 400,
      param: "input.0.content.0.image_url",
    });
    const many = { role: "user" as const, content: [1, 2, 3].map((width) => shows(pngUrl(width, 1))) };
    const refused = await failureOf(chat.completions.create({ model: MODEL, user: "ada", messages: [many] }));
    expect(refused).toMatchObject({ status: 400, param: "messages.0.content", message: expect.stringContaining("MAX_PICTURES") });
  });

  test("may be more than 10 MiB together in a chat that is sent whole", async () => {
    const large = (grey: number) => ({ role: "user" as const, content: [shows(pngUrl(2, 2, { grey, padding: 6 * 1024 * 1024 }))] });
    const messages = [large(1), { role: "assistant" as const, content: "seen" }, large(2), { role: "assistant" as const, content: "seen" }];
    const { chat } = openClient(running.url);
    const answer = await chat.completions.create({ model: MODEL, user: "carol", messages: [...messages, says("And?")] });
    expect(answer.choices[0]?.message.content).toBe("seen");
  });
});
describe("a parameter that the model's server refuses", () => {
  const running = useServiceWithModel();
  test("is reported to the caller by its name as the caller's fault", async () => {
    running.model.answer({
      status: 400,
      error: {
        message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
        param: "temperature",
        code: "unsupported_value",
      },
    });
    const ask = openClient(running.url).chat.completions.create({ model: MODEL, messages: [says("hi")], temperature: 0.2 });
    expect(await failureOf(ask)).toMatchObject({
      status: 400,
      code: "model_parameter_refused",
      message: expect.stringContaining("temperature"),
    });
    const plain = openClient(running.url).chat.completions.create({ model: MODEL, messages: [says("hi again")] });
    expect(await failureOf(plain)).toMatchObject({ status: 422, code: "model_refused" });
  });
});
