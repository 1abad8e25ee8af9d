import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ResponseCreateParamsNonStreaming } from "openai/resources/responses/responses";
import { callApi, listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { openTestService } from "../../../support/services/service.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

describe("stored responses and their conversations", () => {
  const running = useServiceWithModel();
  beforeEach(() => running.model.answer({ tokens: ["Porto ", "is ", "lovely"] }));

  const client = () => openClient(running.url);
  const create = (fields: object) =>
    client().responses.create({ model: MODEL, user: "ada", input: "hello", ...fields } as ResponseCreateParamsNonStreaming);
  const prompt = () => running.model.seen.at(-1)?.body.messages ?? [];
  const conversationsOf = (user: string) => listConversations(running.url, user);

  test("of a conversation that was made for them have its items", async () => {
    const { conversations } = client();
    const made = await conversations.create(
      { items: [{ type: "message", role: "user", content: "I like junipers" }], metadata: { of: "a test" } },
      { headers: { "X-User-Id": "iris" } },
    );
    expect(made).toMatchObject({ object: "conversation", metadata: { of: "a test" } });
    expect(await conversations.retrieve(made.id)).toEqual(made);
    const answered = await create({ user: "iris", conversation: made.id, input: [says("Hello"), says("Which tree?")] });
    expect(answered.conversation).toEqual({ id: made.id });
    expect(prompt().slice(1)).toEqual([says("I like junipers"), { role: "assistant", content: "(no answer)" }, says("Hello\nWhich tree?")]);
    expect(await client().responses.retrieve(answered.id)).toEqual(answered);
    const added = await conversations.items.create(made.id, {
      items: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "From elsewhere", annotations: [] }] as never }],
    });
    expect(added.data).toHaveLength(1);
    const listed: unknown[] = [];
    for await (const item of conversations.items.list(made.id, { order: "asc", limit: 2 })) listed.push(item);
    const content = (type: string, words: string) => expect.objectContaining({ content: [expect.objectContaining({ type, text: words })] });
    expect(listed).toEqual([
      content("input_text", "I like junipers"),
      content("input_text", "Hello\nWhich tree?"),
      content("output_text", "Porto is lovely"),
      content("output_text", "From elsewhere"),
    ]);
    expect((listed as { id: string }[])[2]?.id).toBe(answered.output[0]?.id);
    expect(await conversations.delete(made.id)).toMatchObject({ deleted: true });
    expect(await failureOf(conversations.retrieve(made.id))).toMatchObject({ status: 404, param: "conversation" });
    expect(await failureOf(create({ conversation: made.id }))).toMatchObject({ status: 404, param: "conversation" });
  });

  test("that are deleted are gone with their question", async () => {
    const first = await create({ user: "joan", input: "Forget this" });
    expect(await callApi(`${running.url}/v1/responses/${first.id}`, { method: "DELETE" })).toMatchObject({ status: 200 });
    expect(await failureOf(client().responses.retrieve(first.id))).toMatchObject({ status: 404 });
    expect(await conversationsOf("joan")).toMatchObject([{ message_count: 0 }]);
  });

  test("in the background are read by their id, and stopped by it", async () => {
    const release = running.model.hold(["at ", "last"]);
    const begun = await create({ user: "kate", input: "Take your time", background: true });
    expect(begun).toMatchObject({ status: "in_progress", background: true, output: [] });
    expect((await client().responses.retrieve(begun.id)).status).toBe("in_progress");
    release();
    await waitUntil("the response", async () => (await client().responses.retrieve(begun.id)).status === "completed");
    expect(await client().responses.retrieve(begun.id)).toMatchObject({ output_text: "at last", background: true });

    running.model.answer({ tokens: Array.from({ length: 400 }, (_, index) => `word${index} `), betweenMs: 25 });
    const long = await create({ user: "kate", input: "Never end", background: true });
    const asked = running.model.seen.length;
    await running.model.untilAsked(asked);
    expect(await client().responses.cancel(long.id)).toMatchObject({ status: "cancelled" });
    expect(await client().responses.retrieve(long.id)).toMatchObject({ status: "cancelled" });
    expect(await failureOf(create({ background: true, store: false }))).toMatchObject({ status: 400, param: "background" });
  });

  test("need a key where there are keys, and are their user's alone", async () => {
    const service = await openTestService({ API_KEYS: "key-of-acme:acme,key-of-corp:corp" });
    const at = (apiKey: string) => openClient(service.url, { apiKey }).responses;
    const made = await at("key-of-acme").create({ model: MODEL, safety_identifier: "ada", input: "hello" });
    expect(await failureOf(at("wrong").retrieve(made.id))).toMatchObject({ status: 401 });
    expect(await failureOf(at("key-of-corp").retrieve(made.id))).toMatchObject({ status: 404 });
    expect(await failureOf(at("key-of-acme").retrieve(made.id, {}, { headers: { "X-User-Id": "bob" } }))).toMatchObject({ status: 404 });
    expect((await at("key-of-acme").retrieve(made.id)).id).toBe(made.id);
    expect(await failureOf(at("key-of-acme").create({ model: MODEL, input: "whose?" }))).toMatchObject({ status: 400, param: "user" });
    await service.close();
  });
});
