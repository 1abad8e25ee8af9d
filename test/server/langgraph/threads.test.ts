import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, refusalOf, type StateValues } from "./langgraph-client.ts";

const opened = useServiceWithModel();
const client = () => langGraphClient(opened.url);
beforeEach(() => opened.model.answer({ tokens: ["Hi ", "there."] }));

describe("the threads of LangGraph's client", () => {
  test("are made once, changed, found by their metadata and deleted everywhere", async () => {
    const { threads } = client();
    const threadId = uuidv7();
    const made = await threads.create({ threadId, metadata: { user_id: "ada", topic: "boats", 旅行: "里斯本" } });
    expect(made).toMatchObject({
      thread_id: threadId,
      status: "idle",
      metadata: { graph_id: "conversation", user_id: "ada", topic: "boats" },
    });
    expect(await refusalOf(threads.create({ threadId, metadata: { user_id: "ada" } }))).toMatchObject({ status: 409 });
    expect(await threads.create({ threadId, ifExists: "do_nothing", metadata: { user_id: "ada" } })).toMatchObject({ thread_id: threadId });
    expect(await threads.update(threadId, { metadata: { topic: "ships", mast: 2 } })).toMatchObject({
      metadata: { topic: "ships", mast: 2, 旅行: "里斯本" },
    });
    expect(
      (await threads.search({ metadata: { mast: 2, user_id: "ada", graph_id: "conversation" } })).map(({ thread_id }) => thread_id),
    ).toEqual([threadId]);
    expect(await threads.search({ metadata: { mast: 2, user_id: "bob" } })).toEqual([]);
    expect(await threads.search({ metadata: { mast: 2 }, status: "busy" })).toEqual([]);
    expect(await threads.count({ metadata: { mast: 2 } })).toBe(1);
    const state = await threads.getState<StateValues>(threadId);
    expect([state.values.messages, state.checkpoint.checkpoint_id, state.parent_checkpoint]).toEqual([[], null, null]);
    await threads.delete(threadId);
    expect((await callApi(`${opened.url}/api/v1/conversations/${threadId}`)).status).toBe(404);
    expect(await refusalOf(threads.get(threadId))).toMatchObject({ status: 404 });
  });

  test("lose a field of their metadata when it is set to null, and keep nulls inside a field", async () => {
    const { threads } = client();
    const { thread_id } = await threads.create({ metadata: { user_id: "ada", plan: { end: null, start: 1 }, gone: 1 } });
    const changed = await threads.update(thread_id, { metadata: { gone: null, other: { none: null } } });
    expect(changed.metadata).toEqual({ graph_id: "conversation", user_id: "ada", plan: { end: null, start: 1 }, other: { none: null } });
  });

  describe("have only the fields that a client selects", () => {
    const talk = async (): Promise<string> => {
      const { thread_id } = await client().threads.create({ metadata: { user_id: "ada", topic: "select" } });
      await client().runs.wait(thread_id, "assistant", { input: human("Hello") });
      return thread_id;
    };
    const words = ["Hello", "Hi there."];
    const contentsOf = (values: unknown) => (values as StateValues).messages.map(({ content }) => content);

    test("in a list, with their values on request", async () => {
      const { threads } = client();
      const threadId = await talk();
      const ids = [threadId];
      expect(await threads.search({ ids, select: ["thread_id", "status"] })).toEqual([{ thread_id: threadId, status: "idle" }]);
      const [shown, ...others] = await threads.search({ ids, select: ["values", "context"] });
      expect([Object.keys(shown ?? {}), contentsOf(shown?.values), others]).toEqual([["values"], words, []]);
      expect((await threads.search({ ids }))[0]).toMatchObject({ values: null, interrupts: {} });
      const tooMany = threads.search({ limit: 101, select: ["values"] });
      expect(await refusalOf(tooMany)).toMatchObject({ status: 400, message: expect.stringContaining("limit") });
    });

    test("in their states and histories, down to one value", async () => {
      const { threads } = client();
      const threadId = await talk();
      const state = await threads.getState(threadId, undefined, { select: ["values.messages", "values.usage", "next"] });
      expect([Object.keys(state).toSorted(), Object.keys(state.values).toSorted()]).toEqual([
        ["next", "values"],
        ["messages", "usage"],
      ]);
      expect(contentsOf(state.values)).toEqual(words);
      const [newest] = await threads.getHistory(threadId, { limit: 1, select: ["checkpoint"] });
      expect(newest).toEqual({ checkpoint: expect.objectContaining({ thread_id: threadId }) });
      const { checkpoint } = newest as unknown as { checkpoint: { checkpoint_id: string } };
      expect(await threads.getState(threadId, checkpoint.checkpoint_id, { select: ["next"] })).toEqual({ next: [] });
      const at = { ...checkpoint, checkpoint_ns: "", thread_id: threadId, checkpoint_map: undefined };
      expect(await threads.getState(threadId, at, { select: ["next", "values.messages", "values"] })).toMatchObject({
        next: [],
        values: { messages: [{ content: "Hello" }, {}], usage: { total_tokens: expect.any(Number) } },
      });
    });

    test("as runs and assistants do", async () => {
      const threadId = await talk();
      expect(await client().runs.list(threadId, { select: ["status", "thread_id"] })).toEqual([{ status: "success", thread_id: threadId }]);
      expect(await client().assistants.search({ select: ["name"], limit: 1 })).toEqual([{ name: expect.any(String) }]);
    });

    test.each<[string, () => Promise<unknown>]>([
      ["threads", () => client().threads.search({ select: ["value" as "values"] })],
      ["a state", () => client().threads.getState(uuidv7(), undefined, { select: ["messages" as "values"] })],
      ["a history", () => client().threads.getHistory(uuidv7(), { select: ["values."] })],
      ["runs", () => client().runs.list(uuidv7(), { select: ["state" as "status"] })],
      ["assistants", () => client().assistants.search({ select: ["id" as "name"] })],
    ])("and an unknown field of %s is refused with 400 and the list of known fields", async (_what, call) => {
      expect(await refusalOf(call())).toMatchObject({ status: 400, message: expect.stringMatching(/select.*must be one of/) });
    });
  });

  test("are made by a run only when the run asks for it", async () => {
    const threadId = uuidv7();
    expect(await refusalOf(client().runs.wait(threadId, "assistant", { input: human("Hello") }))).toMatchObject({ status: 404 });
    const made = (await client().runs.wait(threadId, "assistant", {
      input: human("Hello"),
      ifNotExists: "create",
      config: { configurable: { user_id: "ada" } },
    })) as unknown as StateValues;
    expect(made.messages).toHaveLength(2);
    expect(await client().threads.get(threadId)).toMatchObject({ metadata: { user_id: "ada" } });
  });

  test("are read one page at a time, however long the conversation is", async () => {
    const messages = Array.from({ length: 2_000 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `word ${index}`,
    }));
    const imported = await callApi<{ conversation_id: string }>(`${opened.url}/api/v1/conversations/import`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user_id: "ada", session_id: "long", messages }),
    });
    const threadId = imported.json.conversation_id;
    await client().runs.wait(threadId, "assistant", { input: human("And now?") });
    const [state] = await client().threads.getHistory<StateValues>(threadId, { limit: 1 });
    expect(state?.values.messages).toHaveLength(200);
    expect(state?.values.messages.slice(-2).map(({ content }) => content)).toEqual(["And now?", "Hi there."]);
  });
});

describe("this service", () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ["to make an assistant", () => client().assistants.create({ graphId: "conversation" }), "PUT /api/v1/agents"],
    ["a cron", () => client().crons.create("assistant", { schedule: "* * * * *" }), "scheduler"],
    ["to write a state", () => client().threads.updateState(uuidv7(), { values: { messages: [] } }), "import"],
    ["a batch", () => client().runs.createBatch([{ assistantId: "assistant", input: human("x") }]), "one by one"],
    ["a webhook", () => client().runs.wait(null, "assistant", { input: human("x"), webhook: "https://example.org" }), "webhook"],
  ])("refuses %s with 422, and says what to use instead", async (_what, call, words) => {
    expect(await refusalOf(call())).toMatchObject({ status: 422, message: expect.stringContaining(words) });
  });

  test("leaves a mode that it does not serve out of a stream, gives a notice, and sends the other modes", async () => {
    const streamMode = ["lifecycle", "values"] as unknown as "values"[];
    const [, notice, ...frames] = await framesOf(client().runs.stream(null, "assistant", { input: human("x"), streamMode }));
    expect(notice).toMatchObject({
      event: "custom",
      data: { status: "notice", content: { message: expect.stringContaining("lifecycle") } },
    });
    expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(["values"]));
  });

  test("refuses an input without a human message with 400, and makes no thread", async () => {
    const threadId = uuidv7();
    const wrong = client().runs.wait(threadId, "assistant", { input: { messages: [] }, ifNotExists: "create" });
    expect(await refusalOf(wrong)).toMatchObject({ status: 400, message: expect.stringContaining("input") });
    expect(await refusalOf(client().threads.get(threadId))).toMatchObject({ status: 404 });
  });
});
