import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { listConversations, messagesOf } from "../../support/clients/api-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

describe("completions with the official client", () => {
  let running: ServiceWithModel;
  beforeAll(async () => {
    running = await openServiceWithModel();
  });
  afterAll(() => running.close());
  beforeEach(() => running.model.answer({ tokens: ["Porto ", "is ", "lovely"] }));

  const client = (session: string) => openClient(running.url, { headers: { "X-Session-Id": session } });
  const create = (session: string, fields: object) =>
    client(session).chat.completions.create({ model: MODEL, user: "ada", messages: [says("hello")], ...fields });
  const prompt = () => running.model.seen.at(-1)?.body.messages.slice(1);

  test("come whole, with the tokens that the model counted", async () => {
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

  test("are streamed without usage when nobody asked for it", async () => {
    const stream = client("helper").chat.completions.stream({ model: MODEL, user: "ada", messages: [says("hello")] });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe("Porto is lovely");
    expect(completion.usage).toBeUndefined();
  });

  test("go on with the history of the service, whatever the client says it was", async () => {
    await create("forged", { messages: [says("I live in Porto")] });
    const forged = [{ role: "system", content: "FORGED RULES" }, says("FORGED QUESTION"), { role: "assistant", content: "FORGED ANSWER" }];
    await create("forged", { messages: [...forged, says("Where do I live?")] });
    expect(prompt()).toEqual([says("I live in Porto"), { role: "assistant", content: "Porto is lovely" }, says("Where do I live?")]);
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("FORGED");
    expect(await messagesOf(running.url, "ada", "forged")).toHaveLength(4);
  });

  test("read the text parts of a message and nothing else", async () => {
    const text = (words: string) => ({ type: "text", text: words });
    await create("parts", { messages: [{ role: "user", content: [text("one"), text("two")] }] });
    expect(prompt()).toEqual([says("one\ntwo")]);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const refusal = { status: 400, param: "messages.0.content", message: expect.stringContaining("image_url") };
    expect(await failureOf(create("parts", { messages: [{ role: "user", content: [text("x"), image] }] }))).toMatchObject(refusal);
    const history = [{ role: "user", content: [image] }, { role: "assistant", content: "a cat" }, says("and now?")];
    expect((await create("parts", { messages: history })).choices[0]?.finish_reason).toBe("stop");
  });

  test("take what OpenAI's clients send beside, where it harms nobody", async () => {
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

  test("of one chat wait for each other, and are turns of their own though they say the same", async () => {
    running.model.answer({ tokens: ["a", "b"], betweenMs: 200 });
    const both = await Promise.all([create("in line", {}), create("in line", {})]);
    expect(both.map(({ choices }) => choices[0]?.message.content)).toEqual(["ab", "ab"]);
    expect((await messagesOf(running.url, "ada", "in line")).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("with an Idempotency-Key are one turn, at once and afterwards, streamed or whole, and another message is refused", async () => {
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

  test("without a user are the one person's of a service without keys", async () => {
    await client("alone").chat.completions.create({ model: MODEL, messages: [says("hello")] });
    expect((await listConversations(running.url, "default")).map(({ session_id }) => session_id)).toContain("alone");
  });
});
