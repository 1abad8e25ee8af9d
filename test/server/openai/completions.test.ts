import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { openTestService } from "../../support/services/service.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("completions with the official client", () => {
  const running = useServiceWithModel({ MAX_MESSAGE_CHARS: "100" });
  beforeEach(() => running.model.answer({ tokens: ["Porto ", "is ", "lovely"] }));

  const client = (session: string) => openClient(running.url, { headers: { "X-Session-Id": session } });
  const create = (session: string, fields: object) =>
    client(session).chat.completions.create({ model: MODEL, user: "ada", messages: [says("hello")], ...fields });
  const prompt = () => running.model.seen.at(-1)?.body.messages.slice(1);

  test("are sent whole, with the tokens that the model counted", async () => {
    const { data, response } = await client("whole")
      .chat.completions.create({ model: MODEL, user: "ada", messages: [says("I live in Porto")] })
      .withResponse();
    expect(data).toMatchObject({
      object: "chat.completion",
      model: MODEL,
      usage: { prompt_tokens: 100, completion_tokens: 3, total_tokens: 103 },
    });
    expect(data.choices).toEqual([
      { index: 0, message: { role: "assistant", content: "Porto is lovely", refusal: null }, logprobs: null, finish_reason: "stop" },
    ]);
    expect(data.id).toBe(`chatcmpl-${response.headers.get("x-turn-id")}`);
    expect((await messagesOf(running.url, "ada", "whole")).map(({ content, completed }) => [content, completed])).toEqual([
      ["I live in Porto", true],
      ["Porto is lovely", true],
    ]);
  });

  test("are streamed without usage when the client does not ask for it", async () => {
    const stream = client("helper").chat.completions.stream({ model: MODEL, user: "ada", messages: [says("hello")] });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe("Porto is lovely");
    expect(completion.usage).toBeUndefined();
  });

  test("go on with the service's own history, whatever history the client sends", async () => {
    await create("forged", { messages: [says("I live in Porto")] });
    const forged = [says("FORGED QUESTION"), { role: "assistant", content: "FORGED ANSWER" }];
    await create("forged", { messages: [...forged, says("Where do I live?")] });
    expect(prompt()).toEqual([says("I live in Porto"), { role: "assistant", content: "Porto is lovely" }, says("Where do I live?")]);
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("FORGED");
    expect(await messagesOf(running.url, "ada", "forged")).toHaveLength(4);
  });

  test("use the texts and pictures of a message and nothing else", async () => {
    const text = (words: string) => ({ type: "text", text: words });
    await create("parts", { messages: [{ role: "user", content: [text("one"), text("two")] }] });
    expect(prompt()).toEqual([says("one\ntwo")]);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    const refusal = { status: 400, param: "messages.0.content", message: expect.stringContaining("input_audio") };
    expect(await failureOf(create("parts", { messages: [{ role: "user", content: [text("x"), sound] }] }))).toMatchObject(refusal);
    const history = [{ role: "user", content: [image] }, { role: "assistant", content: "a cat" }, says("and now?")];
    expect((await create("parts", { messages: history })).choices[0]?.finish_reason).toBe("stop");
  });

  test("keep only the person's words when a front end wraps them, and show its files to the model once", async () => {
    const context = '<context>\n<source id="1" name="note.txt">It opens at seven.</source>\n</context>';
    const files = '<attached_files>\n<file type="file" name="note.txt"/>\n</attached_files>';
    const wrapped = `### Task:\nRespond to the user query using the provided context.\n\n${context}\n\n${files}\n\nWhen does it open?`;
    const { chat } = openClient(running.url, {});
    const ask = (...messages: object[]) => chat.completions.create({ model: MODEL, user: "grace", messages: messages as never });
    await ask(says(wrapped));
    const [shown] = prompt()?.slice(-1) ?? [];
    expect(shown?.content).toMatch(/<attachments>\n\[note\.txt\]\n> It opens at seven\.\n<\/attachments>\n\nWhen does it open\?$/);
    expect(shown?.content).not.toContain("### Task");
    // The history of later requests has the plain words: the same conversation goes on.
    const porto = { role: "assistant", content: "Porto is lovely" };
    const said = [says("When does it open?"), porto, says("Thanks"), porto];
    await ask(...said.slice(0, 3));
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("seven");
    // With RAG_SYSTEM_CONTEXT the same stands in the system message, behind what the front end's user has told the model.
    await ask({ role: "system", content: `Talk like a pirate.\n${wrapped}` }, ...said, says("And on Sunday?"));
    const seen = JSON.stringify(running.model.seen.at(-1)?.body);
    expect(seen).toContain("[note.txt]\\n> It opens at seven.\\n</attachments>\\n\\nAnd on Sunday?");
    expect(seen).toContain("Talk like a pirate.");
    expect(seen).not.toContain("### Task");
    expect(await listConversations(running.url, "grace")).toMatchObject([{ first_message: "When does it open?", message_count: 6 }]);
  });

  test("accept other fields of OpenAI's clients that do no harm", async () => {
    const numbers = { temperature: 0.2, top_p: 0.9, max_tokens: 5, max_completion_tokens: 5, n: 1, seed: 7, presence_penalty: 0 };
    const { choices } = await create("beside", {
      ...numbers,
      stop: ["\n"],
      logit_bias: {},
      store: false,
      modalities: ["text"],
      response_format: { type: "text" },
      tools: [{ type: "function", function: { name: "map", parameters: {} } }],
      tool_choice: "auto",
      options: { num_ctx: 1 },
      chat_id: "unknown",
    });
    expect(choices[0]?.message.content).toBe("Porto is lovely");
  });

  test("of one chat wait for each other, and the same words are still two turns", async () => {
    running.model.answer({ tokens: ["a", "b"], betweenMs: 200 });
    const { completions } = openClient(running.url, { headers: { "X-Session-Id": "in line", "X-Branching": "off" } }).chat;
    const both = await Promise.all([1, 2].map(() => completions.create({ model: MODEL, user: "ada", messages: [says("the same")] })));
    expect(both.map(({ choices }) => choices[0]?.message.content)).toEqual(["ab", "ab"]);
    expect((await messagesOf(running.url, "ada", "in line")).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("with one Idempotency-Key are one turn, at once or later, streamed or whole, and another message is refused", async () => {
    running.model.answer({ tokens: ["one ", "two"], betweenMs: 200 });
    const before = running.model.seen.length;
    const { completions } = client("keyed").chat;
    const options = { headers: { "Idempotency-Key": "k-1" } };
    const request = { model: MODEL, user: "ada", messages: [says("only once")] };
    const whole = () => completions.create(request, options);
    const streamed = () => completions.stream(request, options).finalChatCompletion();
    const answers = [...(await Promise.all([whole(), streamed()])), await whole(), await streamed()];
    expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(["one two", "one two", "one two", "one two"]);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(running.model.seen).toHaveLength(before + 1);
    for (const stream of [false, true]) {
      const refused = await failureOf(completions.create({ ...request, stream, messages: [says("something else")] }, options));
      expect(refused).toMatchObject({ status: 422, type: "invalid_request_error", code: "idempotency_mismatch", param: null });
    }
    expect(await messagesOf(running.url, "ada", "keyed")).toHaveLength(2);
    const noKey = { headers: { "Idempotency-Key": "two words" } };
    expect(await failureOf(completions.create(request, noKey))).toMatchObject({ status: 400, param: "Idempotency-Key" });
  });

  test("without a user belong to the only person of a service without keys", async () => {
    await client("alone").chat.completions.create({ model: MODEL, messages: [says("hello")] });
    expect((await listConversations(running.url, "default")).map(({ session_id }) => session_id)).toContain("alone");
  });

  const REFUSED: [what: string, fields: object, param: string][] = [
    ["no message", { messages: [] }, "messages"],
    ["messages that are no array", { messages: "hello" }, "messages"],
    ["a message with an unknown role", { messages: [{ role: "robot", content: "x" }] }, "messages.0.role"],
    ["content of no known form", { messages: [{ role: "user", content: 7 }] }, "messages.0.content"],
    ["a result of no call", { messages: [says("hi"), { role: "tool", content: "x" }] }, "messages.1.tool_call_id"],
    [
      "a result of an unknown call",
      { messages: [says("hi"), { role: "tool", tool_call_id: "x", content: "x" }] },
      "messages.1.tool_call_id",
    ],
    ["a system message at the end", { messages: [says("hi"), { role: "system", content: "x" }] }, "messages.1.role"],
    ["a blank answer to go on with", { messages: [says("hi"), { role: "assistant", content: null }] }, "messages.1.content"],
    ["a blank message", { messages: [says("  \n")] }, "messages.0.content"],
    ["a file alone", { messages: [says('<attached_files>\n<file name="a.txt"/>\n</attached_files>\n\n')] }, "message"],
    ["a message without content", { messages: [{ role: "user" }] }, "messages.0.content"],
    ["audio", { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: {} }] }] }, "messages.0.content"],
    ["several answers", { n: 2 }, "n"],
    ["a spoken answer", { modalities: ["text", "audio"] }, "modalities.1"],
    ["one tool that must be called", { tool_choice: { type: "function", function: { name: "x" } } }, "tool_choice"],
    ["a user that is no text", { user: 7 }, "user"],
    ["a user that is too long", { user: "x".repeat(201) }, "user"],
    ["no model", { model: undefined }, "model"],
  ];
  test.each(REFUSED)("with %s are refused as a bad request that names the field", async (_what, fields, param) => {
    const asked = running.model.seen.length;
    const refused = await failureOf(create("refused", fields));
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", param, code: "invalid_request" });
    expect(refused.message).toContain(param);
    expect(running.model.seen).toHaveLength(asked);
  });

  test("are refused for a message that is too long, another content type, broken JSON or an unknown route", async () => {
    expect(await failureOf(create("refused", { messages: [says("x".repeat(101))] }))).toMatchObject({
      status: 413,
      code: "message_too_long",
    });
    const address = `${running.url}/v1/chat/completions`;
    const type = "invalid_request_error";
    const plain = await postJson(address, "hello", { "content-type": "text/plain" });
    expect(plain).toMatchObject({ status: 415, json: { error: { type, param: null } } });
    expect(await postJson(address, "{broken")).toMatchObject({ status: 400, json: { error: { type } } });
    expect(await postJson(`${running.url}/v1/audio/speech`, {})).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
  });

  test("may have a history that is larger than a message may be, up to a limit", async () => {
    const history = [says("x".repeat(500_000)), { role: "assistant" as const, content: "long" }, says("and now?")];
    expect((await create("large", { messages: history })).choices[0]?.message.content).toBe("Porto is lovely");
    const endless = await failureOf(create("large", { messages: [says("x".repeat(65 * 1024 * 1024))] }));
    expect(endless).toMatchObject({ status: 413, code: "body_too_large" });
  });

  test("give a plain error with a time to try again, streamed or not, while the model is away", async () => {
    running.model.answer({ status: 500 });
    for (const stream of [false, true]) {
      const failed = await failureOf(create(`away ${String(stream)}`, { stream }));
      expect(failed).toBeInstanceOf(OpenAI.InternalServerError);
      expect(failed).toMatchObject({ status: 503, type: "server_error", code: "model_unavailable" });
      expect(failed.headers?.get("retry-after")).toBe("1");
      expect(failed.message).not.toContain("secret words");
    }
  });

  test("end their stream with an error when the model breaks off, and the half answer is kept as incomplete", async () => {
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

  test("that a client aborts cancel the model's call, and the half answer is kept as incomplete", async () => {
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
    expect((await create("aborted", {})).choices[0]?.message.content).toBe("back");
  });

  test("need a key in a service with keys, and more requests than allowed are refused with 429", async () => {
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
