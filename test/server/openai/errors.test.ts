import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

describe("what goes wrong, as the official client sees it", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel({ MAX_MESSAGE_CHARS: "100" });
  });
  afterAll(() => running.close());
  beforeEach(() => running.model.answer({ tokens: ["fine"] }));

  const client = (session = "errors") => openClient(running.url, { headers: { "X-Session-Id": session } });
  const create = (fields: object, session?: string) =>
    client(session).chat.completions.create({ model: MODEL, user: "ada", messages: [says("hello")], ...fields });

  const REFUSED: [what: string, fields: object, param: string][] = [
    ["no message", { messages: [] }, "messages"],
    ["messages that are no array", { messages: "hello" }, "messages"],
    ["a message of nobody known", { messages: [{ role: "robot", content: "x" }] }, "messages.0.role"],
    ["content of no known form", { messages: [{ role: "user", content: 7 }] }, "messages.0.content"],
    ["a last message that is not the user's", { messages: [says("hi"), { role: "assistant", content: "x" }] }, "messages.1.role"],
    ["a blank message", { messages: [says("  \n")] }, "messages.0.content"],
    ["a message without content", { messages: [{ role: "user" }] }, "messages.0.content"],
    ["audio", { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }, "messages.0.content"],
    ["several answers", { n: 2 }, "n"],
    ["a spoken answer", { modalities: ["text", "audio"] }, "modalities.1"],
    ["a tool that must be called", { tools: [{ type: "function", function: { name: "x" } }], tool_choice: "required" }, "tool_choice"],
    ["one tool that must be called", { tool_choice: { type: "function", function: { name: "x" } } }, "tool_choice"],
    ["JSON as the answer", { response_format: { type: "json_object" } }, "response_format"],
    ["a user that is no text", { user: 7 }, "user"],
    ["a user that is too long", { user: "x".repeat(201) }, "user"],
    ["no model", { model: undefined }, "model"],
  ];
  test.each(REFUSED)("%s is a bad request that names the field", async (_what, fields, param) => {
    const refused = await failureOf(create(fields));
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", param, code: "invalid_request" });
    expect(refused.message).toContain(param);
    expect(running.model.seen).toEqual([]);
  });

  test("a message that is too long, another content type, broken JSON, an unknown route", async () => {
    expect(await failureOf(create({ messages: [says("x".repeat(101))] }))).toMatchObject({ status: 413, code: "message_too_long" });
    const address = `${running.url}/v1/chat/completions`;
    const type = "invalid_request_error";
    const plain = await postJson(address, "hello", { "content-type": "text/plain" });
    expect(plain).toMatchObject({ status: 415, json: { error: { type, param: null } } });
    expect(await postJson(address, "{broken")).toMatchObject({ status: 400, json: { error: { type } } });
    expect(await postJson(`${running.url}/v1/embeddings`, {})).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
  });

  test("a whole chat may be larger than a message, but not endless", async () => {
    const history = [says("x".repeat(500_000)), { role: "assistant" as const, content: "long" }, says("and now?")];
    expect((await create({ messages: history }, "large")).choices[0]?.message.content).toBe("fine");
    const endless = await failureOf(create({ messages: [says("x".repeat(11 * 1024 * 1024))] }));
    expect(endless).toMatchObject({ status: 413, code: "body_too_large" });
  });

  test("a model that is away is a plain error, streamed or not, with a time to try again", async () => {
    running.model.answer({ status: 500 });
    for (const stream of [false, true]) {
      const failed = await failureOf(create({ stream }, `away ${String(stream)}`));
      expect(failed).toBeInstanceOf(OpenAI.InternalServerError);
      expect(failed).toMatchObject({ status: 503, type: "server_error", code: "model_unavailable" });
      expect(failed.headers?.get("retry-after")).toBe("1");
      expect(failed.message).not.toContain("secret words");
    }
  });

  test("a model that breaks off ends the stream with an error, and what it said is kept as incomplete", async () => {
    running.model.answer({ tokens: ["half ", "an "], ending: "cut" });
    const stream = await client("broken").chat.completions.create({ model: MODEL, user: "ada", stream: true, messages: [says("hello")] });
    const text: string[] = [];
    const failed = await failureOf(
      (async () => {
        for await (const { choices } of stream) text.push(choices[0]?.delta.content ?? "");
      })(),
    );
    expect(text.join("")).toBe("half an ");
    expect(failed).toMatchObject({ code: "model_interrupted", type: "server_error" });
    expect((await messagesOf(running.url, "ada", "broken"))[1]).toMatchObject({ content: "half an ", completed: false });
  });

  test("a client that aborts cancels the model call, and what was said is kept as incomplete", async () => {
    running.model.answer({ tokens: Array.from({ length: 400 }, (_, index) => `word${index} `), betweenMs: 25 });
    const before = running.model.seen.length;
    const stream = await client("aborted").chat.completions.create({ model: MODEL, user: "ada", stream: true, messages: [says("hello")] });
    let chunks = 0;
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content && ++chunks > 3) stream.controller.abort();
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    const [, partial] = await waitUntil("the partial answer", async () => {
      const messages = await messagesOf(running.url, "ada", "aborted");
      return messages.length > 1 && messages;
    });
    expect(partial).toMatchObject({ role: "assistant", completed: false, content: expect.stringMatching(/^word0 word1 /) });
    running.model.answer({ tokens: ["back"] });
    expect((await create({}, "aborted")).choices[0]?.message.content).toBe("back");
  });

  test("a key is needed where there are keys, more requests than allowed are 429", async () => {
    const service = await openTestService({ API_KEYS: "key-of-acme:acme,only-reading:acme:read", RATE_LIMIT_PER_MINUTE: "2" });
    const ask = (apiKey: string, fields: object = { user: "ada" }) =>
      openClient(service.url, { apiKey }).chat.completions.create({ model: MODEL, messages: [says("hello")], ...fields });
    expect(await failureOf(ask("wrong"))).toMatchObject({ status: 401, code: "invalid_api_key", type: "authentication_error" });
    expect(await failureOf(openClient(service.url).models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(await failureOf(ask("only-reading"))).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(await failureOf(ask("key-of-acme", {}))).toMatchObject({ status: 400, param: "user" });
    for (let allowed = 0; allowed < 2; allowed++) await ask("key-of-acme");
    const limited = await failureOf(ask("key-of-acme"));
    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect(limited).toMatchObject({ code: "rate_limit_exceeded", type: "rate_limit_error" });
    expect(Number(limited.headers?.get("retry-after"))).toBeGreaterThan(0);
    await ask("key-of-acme", { user: "bob" });
    await service.close();
  });
});
