import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ResponseCreateParamsNonStreaming, ResponseStreamEvent } from "openai/resources/responses/responses";
import { callApi, listConversations, messagesOf, postJson } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

describe("responses with the official client", () => {
  const running = useServiceWithModel({ MAX_MESSAGE_CHARS: "200" });
  beforeEach(() => running.model.answer({ tokens: ["Porto ", "is ", "lovely"] }));

  const client = () => openClient(running.url);
  const create = (fields: object) =>
    client().responses.create({ model: MODEL, user: "ada", input: "hello", ...fields } as ResponseCreateParamsNonStreaming);
  const prompt = () => running.model.seen.at(-1)?.body.messages ?? [];
  const conversationsOf = (user: string) => listConversations(running.url, user);

  test("are sent whole, and look the same when they are read again", async () => {
    const { data: created, response } = await client()
      .responses.create({ model: MODEL, user: "ada", input: "I live in Porto", instructions: "Be brief.", metadata: { of: "a test" } })
      .withResponse();
    expect(created).toMatchObject({
      object: "response",
      status: "completed",
      model: MODEL,
      error: null,
      incomplete_details: null,
      instructions: "Be brief.",
      metadata: { of: "a test" },
      output_text: "Porto is lovely",
      usage: { input_tokens: 100, output_tokens: 3, total_tokens: 103 },
      tools: [],
      tool_choice: "auto",
      parallel_tool_calls: true,
      store: true,
    });
    expect(created.id).toBe(`resp_${response.headers.get("x-turn-id")?.replaceAll("-", "") ?? ""}`);
    expect(created.output).toMatchObject([
      { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", annotations: [] }] },
    ]);
    expect(prompt()[0]?.content).toContain("Be brief.");
    // Instructions are not kept.
    expect(await client().responses.retrieve(created.id)).toEqual({ ...created, instructions: null });
    const { data: input } = await client().responses.inputItems.list(created.id);
    expect(input).toMatchObject([{ role: "user", content: [{ type: "input_text", text: "I live in Porto" }] }]);
  });

  test("are streamed with every event, numbered without gaps, and with ids that never change", async () => {
    const events: ResponseStreamEvent[] = [];
    const stream = client().responses.stream({ model: MODEL, user: "ada", input: "stream, please" });
    stream.on("event", (event) => events.push(event));
    const final = await stream.finalResponse();
    expect(final.output_text).toBe("Porto is lovely");
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_event, number) => number));
    const types = events.map(({ type }) => type.replace("response.", ""));
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    const ids = events.flatMap((event) => ("item_id" in event ? [event.item_id] : "item" in event ? [event.item.id] : []));
    expect(new Set(ids)).toEqual(new Set([final.output[0]?.id]));
    expect(final.output).toMatchObject((await client().responses.retrieve(final.id)).output);
    const again: string[] = [];
    for await (const event of await client().responses.retrieve(final.id, { stream: true })) again.push(event.type);
    expect([again[0], again.at(-1)]).toEqual(["response.created", "response.completed"]);
  });

  test("go on after the previous response without its instructions, and an unknown one is refused", async () => {
    const first = await create({ user: "grace", input: "My boat is called Calypso", instructions: "Talk like a pirate." });
    const second = await create({ user: "grace", input: "What is it called?", previous_response_id: first.id });
    expect(second.previous_response_id).toBe(first.id);
    expect(prompt().slice(1)).toEqual([
      says("My boat is called Calypso"),
      { role: "assistant", content: "Porto is lovely" },
      says("What is it called?"),
    ]);
    expect(prompt()[0]?.content).not.toContain("pirate");
    const [conversation, ...others] = await conversationsOf("grace");
    expect({ count: conversation?.message_count, others }).toEqual({ count: 4, others: [] });

    const refused = (previous_response_id: string, user = "grace") => failureOf(create({ user, previous_response_id }));
    for (const id of ["resp_unknown", `resp_${"0".repeat(32)}`]) {
      expect(await refused(id)).toMatchObject({ status: 400, code: "previous_response_not_found", param: "previous_response_id" });
    }
    expect(await refused(second.id, "mallory")).toMatchObject({ status: 400, code: "previous_response_not_found" });
    expect(await conversationsOf("grace")).toMatchObject([{ message_count: 4 }]);
    // Whoever names nobody gets the user of the response.
    await client().responses.create({ model: MODEL, input: "And now?", previous_response_id: second.id });
    expect(await conversationsOf("grace")).toMatchObject([{ message_count: 6 }]);
  });

  test("that are not stored use what is known and leave nothing, not even a conversation", async () => {
    const first = await create({ user: "nobody", input: "I am Nobody" });
    const unstored = await create({ user: "nobody", input: "A secret", store: false, previous_response_id: first.id });
    expect(unstored).toMatchObject({ status: "completed", store: false, output_text: "Porto is lovely" });
    expect(prompt().slice(1)).toHaveLength(3);
    expect(await failureOf(client().responses.retrieve(unstored.id))).toMatchObject({ status: 404 });
    const history = [says("I am Nemo"), { role: "assistant" as const, content: "Hello Nemo" }, says("Who am I?")];
    await create({ user: "nobody", input: history, store: false });
    expect(prompt().at(-1)?.content).toMatch(/earlier in this chat\]\n> User: I am Nemo\n> Assistant: Hello Nemo\n<[^]*Who am I\?$/);
    expect(await conversationsOf("nobody")).toMatchObject([{ message_count: 2 }]);
    expect(await failureOf(create({ previous_response_id: unstored.id }))).toMatchObject({ code: "previous_response_not_found" });
    // The first one is still the last one.
    expect(await create({ user: "nobody", previous_response_id: first.id })).toMatchObject({ status: "completed" });
    running.model.answer({ status: 500 });
    await failureOf(create({ user: "nobody", input: "A third", store: false }));
    expect(await conversationsOf("nobody")).toMatchObject([{ message_count: 4 }]);
  });

  test("read parts, items with and without a type, system items and items of earlier responses", async () => {
    const text = (words: string) => ({ type: "input_text", text: words });
    const first = await create({
      user: "hedy",
      input: [
        { role: "system", content: "Be kind." },
        { type: "message", role: "user", content: [text("one"), text("two")] },
      ],
      text: {},
      include: [],
    });
    expect(prompt()[0]?.content).toContain("Be kind.");
    expect(prompt().at(-1)).toEqual(says("one\ntwo"));
    // Clients without a session send all that was said, with the ids of our items.
    await create({ user: "hedy", input: [says("one"), ...first.output, { role: "user", content: [text("three")] }] });
    await create({ user: "hedy", input: [{ type: "item_reference", id: first.output[0]?.id }, says("four")] });
    expect(await conversationsOf("hedy")).toMatchObject([{ message_count: 6 }]);
  });

  test("that are cut off are incomplete, both when streamed and when read again", async () => {
    running.model.answer({ tokens: ["half ", "an"], ending: "length" });
    const final = await client().responses.stream({ model: MODEL, user: "ada", input: "much", store: true }).finalResponse();
    expect(final).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output_text: "half an" });
    expect((await client().responses.retrieve(final.id)).status).toBe("incomplete");
  });

  test("that are cut off before their first word are incomplete, too", async () => {
    running.model.answer({ tokens: [], ending: "length" });
    const created = await client().responses.create({ model: MODEL, user: "ada", input: "nothing", store: true });
    expect(created).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [] });
    expect(await client().responses.retrieve(created.id)).toMatchObject({ status: "incomplete", error: null });
  });

  test("give a plain error when the model is away, and end with response.failed when it breaks off", async () => {
    running.model.answer({ status: 500 });
    for (const stream of [false, true])
      expect(await failureOf(create({ user: "lise", stream }))).toMatchObject({ status: 503, code: "model_unavailable" });
    running.model.answer({ tokens: ["half ", "an "], ending: "cut" });
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client().responses.create({ model: MODEL, user: "lise", input: "go", stream: true }))
      events.push(event);
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { code: "model_interrupted" }, output: [{ status: "incomplete" }] },
    });
    if (last?.type === "response.failed")
      expect(await client().responses.retrieve(last.response.id)).toMatchObject({ status: "failed", output_text: "half an " });
  });

  test("show the model's reasoning as an item of its own before the answer", async () => {
    running.model.answer({ thoughts: ["Let me ", "think."], tokens: ["Four"] });
    const stream = client().responses.stream({ model: MODEL, user: "mary", input: "Two and two?" });
    const deltas: string[] = [];
    stream.on("response.reasoning_summary_text.delta", ({ delta }) => deltas.push(delta));
    const final = await stream.finalResponse();
    expect(deltas.join("")).toBe("Let me think.");
    expect(final.output).toMatchObject([
      { type: "reasoning", status: "completed", summary: [{ type: "summary_text", text: "Let me think." }] },
      { type: "message", content: [{ text: "Four" }] },
    ]);
    const chat = await client().chat.completions.create({ model: MODEL, user: "mary", messages: [says("Two and three?")] });
    expect(chat.choices[0]?.message).toMatchObject({ content: "Four", reasoning_content: "Let me think." });
    expect(JSON.stringify(await messagesOf(running.url, "mary", (await conversationsOf("mary"))[0]?.session_id ?? ""))).not.toContain(
      "think",
    );
  });

  const REFUSED: [what: string, fields: object, param: string][] = [
    ["no input", { input: undefined }, "input"],
    ["an empty input", { input: [] }, "input"],
    ["a blank message", { input: " " }, "input"],
    ["a message with an unknown role", { input: [{ role: "robot", content: "x" }] }, "input.0.role"],
    ["an answer at the end", { input: [says("hi"), { role: "assistant", content: "x" }] }, "input"],
    ["a file", { instructions: "x", input: [{ role: "user", content: [{ type: "input_file", file_id: "x" }] }] }, "input.0.content"],
    ["a stored prompt", { prompt: { id: "pmpt_1" } }, "prompt"],
    ["two conversations", { conversation: "conv_1", previous_response_id: "resp_1" }, "conversation"],
  ];
  test.each(REFUSED)("with %s are refused as a bad request that names the field", async (_what, fields, param) => {
    const asked = running.model.seen.length;
    const refused = await failureOf(create(fields));
    expect(refused).toBeInstanceOf(OpenAI.BadRequestError);
    expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", param });
    expect(running.model.seen).toHaveLength(asked);
  });

  test("are refused with the field's name for a long input or an unknown model, and with 404 for an unknown id", async () => {
    expect(await failureOf(create({ input: "x".repeat(201) }))).toMatchObject({ status: 413, code: "message_too_long", param: "input" });
    expect(await failureOf(create({ model: "gpt-4" }))).toMatchObject({ status: 404, code: "model_not_found" });
    for (const path of ["", "/input_items"]) expect((await callApi(`${running.url}/v1/responses/resp_1${path}`)).status).toBe(404);
    expect((await postJson(`${running.url}/v1/responses/resp_1/cancel`, {})).status).toBe(404);
  });
});
