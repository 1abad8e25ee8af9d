import { HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { AnthropicChatModel } from "../../models/anthropic-chat-model.ts";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import { picturedMessage } from "../../models/wire/pictured-message.ts";
import { type AnswerRequest, streamAnswer } from "../../models/stream-answer.ts";
import { readJson, startHttpServer } from "../servers/http-server.ts";
import { PATIENT } from "../support/services/use-model-server.ts";
import { useOpened } from "../support/use-opened.ts";

interface Block {
  type: string;
  [field: string]: unknown;
}
interface Body {
  model: string;
  max_tokens: number;
  system?: unknown;
  messages: { role: string; content: string | Block[] }[];
  [field: string]: unknown;
}

const seen: { url: string; headers: IncomingHttpHeaders; body: Body }[] = [];
let answer: (response: ServerResponse, body: Body) => unknown;
const server = useOpened(() =>
  startHttpServer((request, response) => {
    void readJson<Body>(request).then((body) => {
      seen.push({ url: request.url ?? "", headers: request.headers, body });
      answer(response, body);
    });
  }),
);
beforeEach(() => void seen.splice(0));

const event = (data: { type: string; [field: string]: unknown }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const delta = (index: number, type: string, field: string, value: string): string =>
  event({ type: "content_block_delta", index, delta: { type, [field]: value } });
const begin = (index: number, block: Block): string => event({ type: "content_block_start", index, content_block: block });
const stop = (index: number): string => event({ type: "content_block_stop", index });

/** https://docs.anthropic.com/en/docs/build-with-claude/streaming */
function stream(response: ServerResponse, blocks: string, reason: string): void {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [],
    usage: { input_tokens: 20, output_tokens: 1 },
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event({ type: "message_start", message }) + event({ type: "ping" }) + blocks);
  response.end(
    event({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 9 } }) +
      event({ type: "message_stop" }),
  );
}

const words = (index: number, ...texts: string[]): string =>
  begin(index, { type: "text", text: "" }) + texts.map((text) => delta(index, "text_delta", "text", text)).join("") + stop(index);
const thought = (index: number): string =>
  begin(index, { type: "thinking", thinking: "", signature: "" }) +
  ["It is ", "asked."].map((text) => delta(index, "thinking_delta", "thinking", text)).join("") +
  delta(index, "signature_delta", "signature", "c2ln") +
  stop(index);
const call = (index: number): string =>
  begin(index, { type: "tool_use", id: "toolu_1", name: "look", input: {} }) +
  ['{"at":', '"Porto"}'].map((text) => delta(index, "input_json_delta", "partial_json", text)).join("") +
  stop(index);

const TOOLS = [
  { type: "function" as const, function: { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } } },
];
const claude = (fields = {}) =>
  new AnthropicChatModel({ model: "claude", baseUrl: server.origin, apiKey: "a key", maxTokens: 300, ...fields });
const ask = (fields: Partial<AnswerRequest> = {}) =>
  streamAnswer({
    model: claude(),
    prompt: [new SystemMessage("Be brief."), new HumanMessage("Hello!")],
    timeouts: PATIENT,
    onToken: () => undefined,
    ...fields,
  });

describe("a model behind Anthropic's protocol", () => {
  test("streams words and thoughts apart, and counts its tokens", async () => {
    answer = (response) => stream(response, thought(0) + words(1, "Hel", "lo."), "end_turn");
    const [tokens, thoughts]: string[][] = [[], []];
    const said = await ask({ onToken: (token) => tokens?.push(token), onThought: (text) => thoughts?.push(text) });
    expect({ tokens, thoughts }).toEqual({ tokens: ["Hel", "lo."], thoughts: ["It is ", "asked."] });
    expect(said).toMatchObject({
      text: "Hello.",
      error: null,
      cut: null,
      usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
    });
    expect(seen[0]).toMatchObject({ url: "/v1/messages", headers: { "x-api-key": "a key" } });
    expect(seen[0]?.body).toMatchObject({ model: "claude", max_tokens: 300, stream: true, cache_control: { type: "ephemeral" } });
    expect(JSON.stringify(seen[0]?.body.system)).toContain("Be brief.");
  });

  test("gets its signed thoughts back with its calls, and another model gets none", async () => {
    answer = (response) => stream(response, thought(0) + words(1, "I look.") + call(2), "tool_use");
    const first = await ask({ tools: TOOLS });
    expect(first.toolCalls).toEqual([{ id: "toolu_1", name: "look", arguments: '{"at":"Porto"}' }]);
    const said = assistantMessage({
      text: first.text,
      calls: [{ id: "toolu_1", name: "look", arguments: { at: "Porto" } }],
      echo: first.echo ?? null,
    });
    const prompt = [new HumanMessage("Hello!"), said, new ToolMessage({ tool_call_id: "toolu_1", name: "look", content: "Rain." })];
    answer = (response) => stream(response, words(0, "It rains."), "end_turn");
    expect(await ask({ tools: TOOLS, prompt })).toMatchObject({ text: "It rains.", error: null });
    expect(seen[1]?.body.messages).toMatchObject([
      { role: "user", content: "Hello!" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "It is asked.", signature: "c2ln" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "toolu_1", name: "look", input: { at: "Porto" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1" }] },
    ]);
    await ask({ tools: TOOLS, prompt, model: claude({ model: "another" }) });
    expect(JSON.stringify(seen[2]?.body.messages)).not.toContain("thinking");
  });

  test("is sent what the turn asks for, in its own words", async () => {
    answer = (response) => stream(response, words(0, "Yes."), "end_turn");
    const modelOptions = { temperature: 0.5, max_tokens: 40, stop: ["END"], tool_choice: "required" as const };
    await ask({ tools: TOOLS, modelOptions });
    expect(seen[0]?.body).toMatchObject({
      temperature: 0.5,
      max_tokens: 40,
      stop_sequences: ["END"],
      tool_choice: { type: "any" },
      tools: [{ name: "look" }],
    });
  });

  test("sees pictures", async () => {
    answer = (response) => stream(response, words(0, "A cat."), "end_turn");
    const picture = { url: "data:image/png;base64,iVBORw0KGgo=", detail: null } as never;
    await ask({ prompt: [picturedMessage("What is it?", [picture], { tokens: 1 })] });
    expect(seen[0]?.body.messages[0]?.content).toMatchObject([
      { type: "text", text: "What is it?" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
    ]);
  });

  test.each([
    [529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, "model_unavailable"],
    [401, { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }, "model_unauthorized"],
    [
      400,
      { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" } },
      "context_too_long",
    ],
  ])("names a failure with status %i as it is", async (status, body, code) => {
    answer = (response) =>
      response.writeHead(status, { "content-type": "application/json", "retry-after": "25" }).end(JSON.stringify(body));
    expect((await ask()).error).toMatchObject({ code, retryAfterSeconds: 25 });
    expect(seen).toHaveLength(1);
  });

  test("says when its answer was cut", async () => {
    answer = (response) => stream(response, words(0, "Half"), "max_tokens");
    expect(await ask()).toMatchObject({ text: "Half", cut: "length", error: null });
  });
});
