import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { type AnswerRequest, type ModelAnswer, streamAnswer } from "../../../models/stream-answer.ts";
import { assistantMessage } from "../../../models/wire/assistant-message.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { servedKey } from "../../../models/wire/dialects.ts";
import { serverName } from "../../../models/wire/server-address.ts";
import type { Echo } from "../../../turn/echo.ts";
import type { ChatRequestBody } from "../../servers/model-server.ts";
import { readJson, startHttpServer } from "../../servers/http-server.ts";
import { PATIENT } from "../../support/services/use-model-server.ts";
import { modelAt } from "../../support/services/model-at.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface Asked {
  url: string;
  headers: IncomingHttpHeaders;
  body: ChatRequestBody;
  /** Tells connections apart. */
  port: number;
}

const asked: Asked[] = [];
let answer: (response: ServerResponse, request: Asked) => unknown;

const listen = () =>
  startHttpServer((request, response) => {
    void readJson<ChatRequestBody>(request).then((body) => {
      asked.push({ url: request.url ?? "", headers: request.headers, body, port: request.socket.remotePort ?? 0 });
      answer(response, asked.at(-1) as Asked);
    });
  });
const server = useOpened(listen);
const otherServer = useOpened(listen);
beforeEach(() => void asked.splice(0));

const frame = (fields: object): string => `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", ...fields })}\n\n`;
const delta = (content: string, finish_reason: string | null = null): string =>
  frame({ choices: [{ index: 0, delta: { content }, finish_reason }] });
const DONE = "data: [DONE]\n\n";
const TEXT = "Grüße, 世界 😀";
const WHOLE = delta("Grüße, ") + delta("世界 😀") + delta("", "stop") + DONE;

const stream = (response: ServerResponse): ServerResponse => response.writeHead(200, { "content-type": "text/event-stream" });

describe("the chat model over a socket", () => {
  const ask = (path = "/v1", beside: Partial<AnswerRequest> = {}): Promise<ModelAnswer> =>
    streamAnswer({
      ...beside,
      model: modelAt(server.origin + path),
      prompt: [new HumanMessage("Hello!")],
      timeouts: PATIENT,
      onToken: () => undefined,
    });

  test("asks below the path of its server's address, with its query and the key", async () => {
    answer = (response) => stream(response).end(WHOLE);
    expect(await ask("/deep/v1?api-version=7")).toMatchObject({ text: TEXT, error: null });
    expect(asked).toMatchObject([
      {
        url: "/deep/v1/chat/completions?api-version=7",
        headers: { authorization: "Bearer a key", "content-type": "application/json" },
        body: { model: "test-chat", stream: true, messages: [{ role: "user", content: "Hello!" }] },
      },
    ]);
  });

  test.each([
    ["", undefined],
    [" beside tools", [{ type: "function", function: { name: "map", parameters: { type: "object", properties: {} } } }]],
  ])("sends what a turn asks of the model%s", async (_beside, tools) => {
    answer = (response) => stream(response).end(WHOLE);
    const sampling = { temperature: 0, top_p: 0.5, stop: ["\n"], seed: 7, presence_penalty: 1, frequency_penalty: -1 };
    const form = { reasoning_effort: "low", response_format: { type: "json_object" as const } };
    await ask("/v1", { tools, modelOptions: { ...sampling, ...form, max_tokens: 9, parallel_tool_calls: false, stream: false } });
    const { body } = asked.at(-1) ?? {};
    expect(body).toMatchObject({ ...sampling, ...form, max_tokens: 9, stream: true });
    expect({ ...body }).toEqual(expect.objectContaining(tools ? { tools, parallel_tool_calls: false } : {}));
    if (!tools) expect(body).not.toHaveProperty("parallel_tool_calls");
  });

  test.each([
    ["one byte at a time", WHOLE],
    ["with other ends of lines", WHOLE.replaceAll("\n", "\r\n")],
    ["with comments, other fields and data in two lines", `: ping\n\nid: 7\nretry: 10\n${WHOLE.replaceAll("data: {", "data: {\ndata: ")}`],
    ["without a space behind the colon", WHOLE.replaceAll("data: ", "data:")],
  ])("reads frames that come %s", async (_name, frames) => {
    answer = (response) => {
      stream(response);
      for (const byte of Buffer.from(frames)) response.write(Buffer.of(byte));
      response.end();
    };
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
  });

  test("reads a stream that is compressed", async () => {
    answer = (response) => stream(response.setHeader("content-encoding", "gzip")).end(gzipSync(WHOLE));
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
  });

  test("follows a redirect with its request, but does not show the key to another server", async () => {
    const elsewhere = `${otherServer.origin}/v2/chat/completions`;
    answer = (response, { url }) =>
      url.startsWith("/v1") ? response.writeHead(307, { location: elsewhere }).end() : stream(response).end(WHOLE);
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
    const [first, second] = asked;
    expect(second).toMatchObject({ url: "/v2/chat/completions", body: first?.body });
    expect(first?.headers.authorization).toBe("Bearer a key");
    expect(second?.headers.authorization).toBeUndefined();
  });

  test.each([
    ["in a frame", frame({ error: { message: "secret words", code: 500 } })],
    ["in an event of that name", `event: error\ndata: {"message":"secret words"}\n\n`],
  ])("keeps what was said before the server tells of an error %s", async (_name, error) => {
    answer = (response) => stream(response).end(delta("half") + error + WHOLE);
    expect(await ask()).toMatchObject({ text: "half", error: { code: "model_bad_response" } });
  });

  test.each([
    [502, "model_unavailable"],
    [403, "model_refused"],
    [200, "model_incomplete"],
  ])("understands a page with status %i", async (status, code) => {
    answer = (response) => response.writeHead(status, { "content-type": "text/html" }).end("<html><body>secret words: sorry</body></html>");
    const { text, error } = await ask();
    expect({ text, code: error?.code }).toEqual({ text: "", code });
    expect(error?.message).not.toContain("secret words");
    if (status !== 502) expect(error?.message).toContain("Check OPENAI_");
  });

  test("is done when the server says so, though the connection stays open", async () => {
    answer = (response) => stream(response).write(WHOLE);
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
  });
});

describe("the chat model", () => {
  const read = async (model: ReturnType<typeof modelAt>) => Array.fromAsync(await model.stream("Hello!"));

  test("uses a connection again whose answer ended in a packet of its own", async () => {
    answer = (response) => {
      stream(response).write(WHOLE);
      setTimeout(() => response.end(), 20);
    };
    await waitUntil("a connection that was used again", async () => {
      await read(modelAt(`${server.origin}/v1`));
      return new Set(asked.map(({ port }) => port)).size < asked.length;
    });
  });

  test.each([
    ["test-chat", 100, 9, { max_tokens: 9 }],
    ["test-chat", 100, 900, { max_tokens: 100 }],
    ["o3-mini", undefined, 900, { max_completion_tokens: 900 }],
  ])("bounds an answer of %s, %p tokens at most, that shall have %i", async (model, maxTokens, max_tokens, sent) => {
    answer = (response) => stream(response).end(WHOLE);
    const bounded = createOpenAIChatModel({ model, baseUrl: `${server.origin}/v1`, maxTokens });
    await Array.fromAsync(await bounded.stream("Hello!", { modelOptions: { max_tokens } } as object));
    const { max_tokens: most, max_completion_tokens: mostOfAll } = (asked.at(-1)?.body ?? {}) as {
      max_tokens?: number;
      max_completion_tokens?: number;
    };
    expect({ max_tokens: most, max_completion_tokens: mostOfAll }).toEqual(sent);
  });

  test("sends no reasoning back any more to a server that refuses it, which sent it before", async () => {
    const model = modelAt(`${server.origin}/v1`);
    const prompt = (echo: Echo | null) => [
      new HumanMessage("Where?"),
      assistantMessage({ text: "", calls: [{ id: "call_1", name: "map", arguments: {} }], echo }),
      new ToolMessage({ tool_call_id: "call_1", name: "map", content: "Here." }),
    ];
    answer = (response, { body }) => {
      if (!JSON.stringify(body).includes("I look.")) return stream(response).end(WHOLE);
      const detail = [
        { type: "extra_forbidden", loc: ["body", "messages", 1, "reasoning_content"], msg: "Extra inputs are not permitted" },
      ];
      return response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
    };
    const from = servedKey({ server: serverName(`${server.origin}/v1`), model: "test-chat" });
    const ask = () =>
      streamAnswer({
        model,
        prompt: prompt({ from, message: { reasoning_content: "I look." } }),
        timeouts: PATIENT,
        onToken: () => undefined,
      });
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
    expect(await ask()).toMatchObject({ text: TEXT, error: null });
    expect(asked).toHaveLength(3); // the first is refused, and never again
  });
});
