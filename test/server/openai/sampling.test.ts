import { beforeEach, describe, expect, test } from "@jest/globals";
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { generateObject, streamObject } from "ai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const Person = z.object({ name: z.string(), age: z.number().int() });
const ADA = '{"name": "Ada", "age": 36}';
const FENCED = `Here it is:\n\`\`\`json\n${ADA}\n\`\`\``;

describe("completions with the official client", () => {
  const running = useServiceWithModel({ MAX_ANSWER_TOKENS: "500" });
  beforeEach(() => void running.model.seen.splice(0));

  /** The first request gets the first script, and so on. */
  const answerInTurn = (...scripts: ModelScript[]): void =>
    running.model.answer(() => scripts[Math.min(running.model.seen.length, scripts.length) - 1] ?? {});
  const client = (session: string) => openClient(running.url, { headers: { "X-Session-Id": session } });
  const create = (session: string, fields: object) =>
    client(session).chat.completions.create({ model: MODEL, user: "ada", messages: [says("hello")], ...fields });
  const sent = () => running.model.seen.map(({ body }) => body as unknown as Record<string, unknown>);

  test("pass on the options of the answer that the client has set, and no others", async () => {
    running.model.answer({ tokens: ["Aye."] });
    const sampling = { temperature: 0.123, top_p: 0.9, stop: ["XYZ"], seed: 5, presence_penalty: 0.5, frequency_penalty: 0.25 };
    await create("sampling", { ...sampling, max_completion_tokens: 77, reasoning_effort: "low", parallel_tool_calls: true });
    expect(sent()).toMatchObject([{ ...sampling, max_tokens: 77, reasoning_effort: "low" }]);
    expect(sent()[0]).not.toHaveProperty("parallel_tool_calls"); // servers refuse it without tools
    await create("sampling", { temperature: null, stop: null, max_tokens: 9_999 });
    expect(sent()[1]).not.toHaveProperty("temperature");
    expect(sent()[1]).not.toHaveProperty("stop");
    expect(sent()[1]).toMatchObject({ max_tokens: 500 });
    await create("sampling", { temperature: 0.5, messages: [says("Generate a title")], metadata: { task: "title_generation" } });
    expect(sent()[2]).toMatchObject({ temperature: 0.5 });
  });

  test("that reach max_tokens end by their length, count as whole and are marked as cut", async () => {
    running.model.answer({ tokens: ["Once ", "upon"], ending: "length" });
    const { choices } = await create("cut", { max_tokens: 2 });
    expect(choices).toMatchObject([{ message: { content: "Once upon" }, finish_reason: "length" }]);
    const [, answer] = await messagesOf(running.url, "ada", "cut");
    expect(answer).toMatchObject({ content: "Once upon", completed: true, metadata: { cut: "length" } });
  });

  test.each<[string, ModelScript]>([
    ["their first word", { tokens: [], ending: "length" }],
    ["the end of a call", { toolCalls: [{ name: "weather", arguments: { city: "Porto" } }], ending: "length" }],
  ])("that reach max_tokens before %s end by their length, too", async (_what, script) => {
    running.model.answer(script);
    const tools = [{ type: "function" as const, function: { name: "weather", parameters: { type: "object", properties: {} } } }];
    const { choices } = await create("spent", { max_tokens: 3, tools });
    expect(choices).toMatchObject([{ message: { content: null }, finish_reason: "length" }]);
    const request = { model: MODEL, user: "ada", messages: [says("And streamed?")], max_tokens: 3, tools };
    const chunks = await Array.fromAsync(await client("spent").chat.completions.create({ ...request, stream: true }));
    expect(chunks.at(-1)?.choices).toMatchObject([{ finish_reason: "length" }]);
    expect(sent()).toHaveLength(2);
  });

  test.each<[string, object, string]>([
    ["probabilities of tokens", { logprobs: true }, "logprobs"],
    ["the likeliest tokens", { top_logprobs: 3 }, "top_logprobs"],
    ["an answer in an unknown form", { response_format: { type: "xml" } }, "response_format.type"],
    [
      "a form without a schema",
      { response_format: { type: "json_schema", json_schema: { name: "x" } } },
      "response_format.json_schema.schema",
    ],
    [
      "a schema that refers to nothing",
      { response_format: { type: "json_schema", json_schema: { name: "x", schema: { $ref: "#/$defs/none" } } } },
      "response_format.json_schema.schema",
    ],
    ["a temperature that is no number", { temperature: "hot" }, "temperature"],
    ["no tokens at all", { max_tokens: 0 }, "max_tokens"],
    ["a stop that is no text", { stop: [7] }, "stop"],
    [
      "a form for the rest of an answer",
      { messages: [says("hi"), { role: "assistant", content: "ho" }], response_format: { type: "json_object" } },
      "response_format",
    ],
  ])("that ask for %s are refused as a bad request that names the field", async (_what, fields, param) => {
    expect(await failureOf(create("refused", fields))).toMatchObject({ status: 400, code: "invalid_request", param });
    expect(running.model.seen).toEqual([]);
  });

  test("come in the requested form, which the client parses and the model's server was told", async () => {
    answerInTurn({ tokens: [ADA.slice(0, 9), ADA.slice(9)] });
    const format = zodResponseFormat(Person, "person");
    const request = { model: MODEL, user: "ada", messages: [says("Who is Ada?")], response_format: format };
    const { choices } = await client("parsed").chat.completions.parse(request);
    expect(choices[0]?.message.parsed).toEqual({ name: "Ada", age: 36 });
    expect(sent()).toMatchObject([{ response_format: format }]);
    const stream = client("parsed").chat.completions.stream(request);
    expect((await stream.finalChatCompletion()).choices[0]?.message.parsed).toEqual({ name: "Ada", age: 36 });
  });

  test.each([false, true])("are corrected when the model's server ignores the form (streamed: %p)", async (stream) => {
    const request = { model: MODEL, user: "ada", messages: [says("Who is Ada?")], response_format: zodResponseFormat(Person, "person") };
    const ask = async (): Promise<string | null | undefined> => {
      const { completions } = client(`ignored ${String(stream)}`).chat;
      const completion = stream ? await completions.stream(request).finalChatCompletion() : await completions.create(request);
      return completion.choices[0]?.message.content;
    };
    answerInTurn({ tokens: [FENCED] });
    expect(JSON.parse((await ask()) ?? "")).toEqual({ name: "Ada", age: 36 });
    expect(running.model.seen).toHaveLength(1); // the JSON stood in the answer

    running.model.seen.splice(0);
    answerInTurn({ tokens: ["She was born in 1815."] }, { tokens: [ADA] });
    expect(await ask()).toBe(ADA);
    const [, repair] = running.model.seen;
    expect(repair?.body.messages.at(-2)).toEqual({ role: "assistant", content: "She was born in 1815." });
    expect(repair?.body.messages.at(-1)?.content).toMatch(/is no JSON.*JSON schema:\n\{.*"age"/s);
    const stored = (await messagesOf(running.url, "ada", `ignored ${String(stream)}`)).at(-1);
    expect(stored).toMatchObject({ content: ADA, completed: true, metadata: { usage: { prompt_tokens: 200 } } });

    running.model.seen.splice(0);
    answerInTurn({ tokens: ["No."] }, { tokens: ["Still ", "no."] });
    const failed = await failureOf(ask());
    expect(failed).toMatchObject({ code: "model_malformed", message: expect.stringContaining("response_format") });
    expect(running.model.seen).toHaveLength(2);
  });

  test("with a wrong shape are corrected, but a reader who has seen them begin gets an error", async () => {
    const wrong = '{"name": "Ada"}';
    const format = zodResponseFormat(Person, "person");
    answerInTurn({ tokens: [wrong] }, { tokens: [ADA] });
    expect((await create("shape", { response_format: format })).choices[0]?.message.content).toBe(ADA);
    expect(running.model.seen.at(-1)?.body.messages.at(-1)?.content).toContain("age");

    running.model.seen.splice(0);
    const shown: string[] = [];
    const stream = client("shape").chat.completions.stream({
      model: MODEL,
      user: "ada",
      messages: [says("hello")],
      response_format: format,
    });
    answerInTurn({ tokens: [wrong] });
    const failed = await failureOf(
      (async () => {
        for await (const { choices } of stream) shown.push(choices[0]?.delta.content ?? "");
      })(),
    );
    expect(failed).toMatchObject({ code: "model_malformed" });
    expect(shown.join("")).toBe(wrong);
    expect((await messagesOf(running.url, "ada", "shape")).at(-1)).toMatchObject({ content: wrong, completed: false });
  });

  test("that are cut off stay unchanged, whatever their form", async () => {
    answerInTurn({ tokens: ['{"name": '], ending: "length" });
    const { choices } = await create("cut form", { response_format: { type: "json_object" } });
    expect(choices).toMatchObject([{ message: { content: '{"name": ' }, finish_reason: "length" }]);
    expect(running.model.seen).toHaveLength(1);
  });

  test("are not delayed by a schema whose pattern takes for ever", async () => {
    answerInTurn({ tokens: [JSON.stringify({ name: `${"a".repeat(60)}!` })] });
    const schema = { type: "object", properties: { name: { type: "string", pattern: "^(a|a|aa)+$" } } };
    const response_format = { type: "json_schema", json_schema: { name: "x", schema } };
    expect(await failureOf(create("slow", { response_format }))).toMatchObject({ code: "model_malformed" });
    expect((await callApi(`${running.url}/healthz`)).status).toBe(200);
  });

  test("can be read by LangChain's withStructuredOutput and by the AI SDK's generateObject and streamObject", async () => {
    running.model.answer({ tokens: [ADA.slice(0, 12), ADA.slice(12)] });
    const configuration = { baseURL: `${running.url}/v1`, defaultHeaders: { "X-Session-Id": "others" } };
    const langchain = new ChatOpenAI({ model: MODEL, apiKey: "none", maxRetries: 0, configuration });
    const structured = langchain.withStructuredOutput(Person, { method: "jsonSchema", name: "person" });
    expect(await structured.invoke("Who is Ada?")).toEqual({ name: "Ada", age: 36 });
    const model = createOpenAI({ baseURL: `${running.url}/v1`, apiKey: "none", headers: configuration.defaultHeaders }).chat(MODEL);
    const asked = { model, schema: Person, prompt: "Who is Ada?", maxRetries: 0 };
    expect((await generateObject(asked)).object).toEqual({ name: "Ada", age: 36 });
    const partial = await Array.fromAsync(streamObject(asked).partialObjectStream);
    expect(partial[0]).toEqual({ name: "Ad" });
    expect(partial.at(-1)).toEqual({ name: "Ada", age: 36 });
    expect(sent().every(({ response_format }) => (response_format as { type: string }).type === "json_schema")).toBe(true);
  });
});
