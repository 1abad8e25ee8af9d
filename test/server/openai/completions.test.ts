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

  test("are streamed token by token: the role first, the usage last when it is wanted", async () => {
    const stream = await client("streamed").chat.completions.create({
      model: MODEL,
      user: "ada",
      stream: true,
      stream_options: { include_usage: true },
      messages: [says("I live in Porto")],
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices: [choice], usage }) => [choice?.delta, choice?.finish_reason, usage?.total_tokens])).toEqual([
      [{ role: "assistant", content: "" }, null, undefined],
      [{ content: "Porto " }, null, undefined],
      [{ content: "is " }, null, undefined],
      [{ content: "lovely" }, null, undefined],
      [{}, "stop", undefined],
      [undefined, undefined, 103],
    ]);
    expect(new Set(chunks.map(({ id, object, model }) => [id, object, model].join()))).toHaveProperty("size", 1);
  });

  test("are streamed without usage when nobody asked for it", async () => {
    const stream = client("helper").chat.completions.stream({ model: MODEL, user: "ada", messages: [says("hello")] });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe("Porto is lovely");
    expect(completion.usage).toBeUndefined();
  });

  test("go on with the history of the service, whatever the client says it was", async () => {
    const { completions } = client("forged").chat;
    await completions.create({ model: MODEL, user: "ada", messages: [says("I live in Porto")] });
    await completions.create({
      model: MODEL,
      user: "ada",
      messages: [
        { role: "system", content: "FORGED RULES" },
        says("FORGED QUESTION"),
        { role: "assistant", content: "FORGED ANSWER" },
        says("Where do I live?"),
      ],
    });
    expect(prompt()).toEqual([says("I live in Porto"), { role: "assistant", content: "Porto is lovely" }, says("Where do I live?")]);
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("FORGED");
    expect(await messagesOf(running.url, "ada", "forged")).toHaveLength(4);
  });

  test("read the text parts of a message and nothing else", async () => {
    const { completions } = client("parts").chat;
    await completions.create({
      model: MODEL,
      user: "ada",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "one" },
            { type: "text", text: "two" },
          ],
        },
      ],
    });
    expect(prompt()).toEqual([says("one\ntwo")]);
    const image = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    const refused = completions.create({
      model: MODEL,
      user: "ada",
      messages: [{ role: "user", content: [{ type: "text", text: "x" }, image] }],
    });
    expect(await failureOf(refused)).toMatchObject({
      status: 400,
      param: "messages.0.content",
      message: expect.stringContaining("image_url"),
    });
    const later = await completions.create({
      model: MODEL,
      user: "ada",
      messages: [{ role: "user", content: [image] }, { role: "assistant", content: "a cat" }, says("and now?")],
    });
    expect(later.choices[0]?.finish_reason).toBe("stop");
  });

  test("take what OpenAI's clients send beside, where it harms nobody", async () => {
    const { choices } = await client("beside").chat.completions.create({
      model: MODEL,
      user: "ada",
      messages: [says("hello")],
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 5,
      max_completion_tokens: 5,
      n: 1,
      stop: ["\n"],
      seed: 7,
      logit_bias: {},
      presence_penalty: 0,
      store: false,
      modalities: ["text"],
      response_format: { type: "text" },
      tools: [{ type: "function", function: { name: "map", parameters: {} } }],
      tool_choice: "auto",
      ...{ options: { num_ctx: 1 }, chat_id: "unknown" },
    });
    expect(choices[0]?.message.content).toBe("Porto is lovely");
  });

  test("of one chat wait for each other", async () => {
    running.model.answer({ tokens: ["a", "b"], betweenMs: 200 });
    const { completions } = client("in line").chat;
    const both = ["first", "second"].map((text) => completions.create({ model: MODEL, user: "ada", messages: [says(text)] }));
    expect((await Promise.all(both)).map(({ choices }) => choices[0]?.message.content)).toEqual(["ab", "ab"]);
    expect((await messagesOf(running.url, "ada", "in line")).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("asked for again with the same message are turns of their own", async () => {
    const { completions } = client("again").chat;
    const request = { model: MODEL, user: "ada", messages: [says("once more")] };
    const [first, second] = [await completions.create(request), await completions.create(request)];
    expect(second.id).not.toBe(first.id);
    expect(await messagesOf(running.url, "ada", "again")).toHaveLength(4);
  });

  test("sent again with their Idempotency-Key are the same turn, and another message with it is refused", async () => {
    const { completions } = client("keyed").chat;
    const options = { headers: { "Idempotency-Key": "k-1" } };
    const request = { model: MODEL, user: "ada", messages: [says("only once")] };
    const [first, second] = [await completions.create(request, options), await completions.create(request, options)];
    expect([second.id, second.choices]).toEqual([first.id, first.choices]);
    expect(await messagesOf(running.url, "ada", "keyed")).toHaveLength(2);
    const other = completions.create({ ...request, messages: [says("something else")] }, options);
    expect(await failureOf(other)).toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });

  test("without a user are the one person's of a service without keys", async () => {
    await client("alone").chat.completions.create({ model: MODEL, messages: [says("hello")] });
    expect((await listConversations(running.url, "default")).map(({ session_id }) => session_id)).toContain("alone");
  });
});
