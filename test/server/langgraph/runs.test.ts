import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, listMessages } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import {
  framesOf,
  human,
  langGraphClient,
  lastOf,
  refusalOf,
  type SentFrame,
  type StateValues,
  statusesOf,
  textOf,
} from "./langgraph-client.ts";

const opened = useServiceWithModel({ ENABLE_CORE_MEMORY: "true", MEMORY_MODEL: "test-memory", SUMMARY_MODEL: "test-memory" });
const client = () => langGraphClient(opened.url);
const says = (...tokens: string[]) => opened.model.answer(({ model }) => (model === "test-chat" ? { tokens } : { tokens: ["nothing"] }));
beforeEach(() => says("Hi ", "there."));

const ofAda = () => client().threads.create({ metadata: { user_id: "ada" } });
const run = (threadId: string, text: string, more: object = {}): Promise<SentFrame[]> =>
  framesOf(
    client().runs.stream(threadId, "assistant", {
      input: human(text),
      streamMode: ["values", "updates", "messages-tuple", "custom"],
      ...more,
    }),
  );

async function untilSaid(threadId: string, runId: string, words: string): Promise<void> {
  let said = "";
  for await (const frame of client().runs.joinStream(threadId, runId)) {
    said += textOf([frame]);
    if (said === words) return;
  }
  throw new Error(`the run ended with "${said}"`);
}

describe("the assistants of LangGraph's client", () => {
  test("are the agents, by id and by name, with the graph and the schemas of a turn", async () => {
    await callApi(`${opened.url}/api/v1/agents/helper`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ description: "Helps" }),
    });
    const { assistants } = client();
    const found = await assistants.search({ graphId: "conversation" });
    expect(found.map(({ name, graph_id }) => [name, graph_id])).toEqual([
      ["assistant", "conversation"],
      ["helper", "conversation"],
    ]);
    expect(await assistants.count({ name: "help" })).toBe(1);
    const helper = found[1]?.assistant_id ?? "";
    expect(await assistants.get(helper)).toEqual(await assistants.get("helper"));
    expect((await assistants.getVersions(helper)).map(({ version }) => version)).toEqual([1]);
    const graph = await assistants.getGraph("conversation", { xray: true });
    expect(graph.nodes.map(({ id }) => id)).toEqual(expect.arrayContaining(["route", "history", "persist", "generate_agent:model"]));
    const schemas = await assistants.getSchemas(helper);
    expect(Object.keys(schemas.state_schema?.properties ?? {})).toEqual(expect.arrayContaining(["messages", "summary", "core_memory"]));
    expect(Object.keys(await assistants.getSubgraphs(helper))).toEqual(["generate_agent"]);
    expect(await refusalOf(assistants.get("nobody"))).toMatchObject({ status: 404 });
  });
});

describe("a run of LangGraph's client", () => {
  test("streams a turn in all modes that it asks for, and is in the conversation with the same ids", async () => {
    const { thread_id } = await ofAda();
    const frames = await run(thread_id, "My boat is Argo.");
    expect(frames[0]).toMatchObject({ event: "metadata", data: { run_id: expect.any(String) } });
    expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(["metadata", "values", "updates", "messages", "custom"]));
    expect(textOf(frames)).toBe("Hi there.");
    const nodes = frames.filter(({ event }) => event === "updates").flatMap(({ data }) => Object.keys(data as object));
    expect(nodes.toSorted()).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    expect(frames.filter(({ event }) => event === "custom").map(({ data }) => (data as { status: string }).status)).toEqual([
      "route_decision",
      "token",
      "token",
      "done",
    ]);
    const [, chunk] = frames.find(({ event }) => event === "messages")?.data as [object, object];
    expect(chunk).toMatchObject({ langgraph_node: "generate" });
    const values = lastOf(frames);
    expect(values.messages.map(({ type, content }) => [type, content])).toEqual([
      ["human", "My boat is Argo."],
      ["ai", "Hi there."],
    ]);
    expect(values).toMatchObject({
      route_decision: { method: "default" },
      usage: { total_tokens: 102 },
      receipt: { window_messages: 0 },
    });
    const stored = await listMessages(opened.url, thread_id);
    expect(stored.map(({ id }) => id)).toEqual(values.messages.map(({ id }) => id));
    const { run_id } = frames[0]?.data as { run_id: string };
    expect(await client().runs.get(thread_id, run_id)).toMatchObject({ run_id, thread_id, status: "success" });
    expect((await callApi(`${opened.url}/api/v1/turns/${run_id}`)).json).toMatchObject({ state: "done", conversation_id: thread_id });
  });

  test("is streamed as whole messages that grow in the mode of old clients", async () => {
    const { thread_id } = await ofAda();
    const frames = await run(thread_id, "Hello", { streamMode: "messages" });
    const partial = frames
      .filter(({ event }) => event === "messages/partial")
      .map(({ data }) => (data as [{ content: string }])[0].content);
    expect(partial).toEqual(["Hi ", "Hi there.", "Hi there.", "Hi there."]);
    expect(frames.map(({ event }) => event)).toEqual(expect.arrayContaining(["messages/metadata", "messages/complete"]));
  });

  test("leaves a state, and earlier states that name their parents", async () => {
    const { thread_id } = await ofAda();
    for (const text of ["one", "two", "three"]) await run(thread_id, text);
    const { threads } = client();
    const state = await threads.getState<StateValues>(thread_id);
    expect(state).toMatchObject({ next: [], tasks: [], checkpoint: { thread_id, checkpoint_ns: "" } });
    expect(state.values.messages).toHaveLength(6);
    const history = await threads.getHistory<StateValues>(thread_id);
    expect(history.map(({ values }) => values.messages.length)).toEqual([6, 4, 2]);
    expect(history[0]).toEqual(state);
    for (const [index, { parent_checkpoint: parent }] of history.entries())
      expect(parent?.checkpoint_id).toBe(history[index + 1]?.checkpoint.checkpoint_id ?? thread_id); // the beginning
    const [, second, first] = history;
    expect(await threads.getState(thread_id, second?.checkpoint.checkpoint_id ?? "")).toMatchObject({
      values: { messages: second?.values.messages },
    });
    expect(await threads.getState(thread_id, second?.checkpoint)).toMatchObject({ checkpoint: second?.checkpoint });
    const earlier = await threads.getHistory<StateValues>(thread_id, {
      before: { configurable: { checkpoint_id: second?.checkpoint.checkpoint_id ?? "" } },
    });
    expect(earlier.map(({ checkpoint }) => checkpoint)).toEqual([first?.checkpoint]);
    expect(statusesOf(await client().runs.list(thread_id))).toEqual(["success", "success", "success"]);
    expect(await refusalOf(threads.getState(thread_id, uuidv7()))).toMatchObject({ status: 404 });
  });

  test("can be waited for, begun in the background, joined, and found again after its stream broke", async () => {
    const { thread_id } = await ofAda();
    const { runs } = client();
    const waited = (await runs.wait(thread_id, "conversation", { input: human("Hello") })) as unknown as StateValues;
    expect(waited.messages.at(-1)).toMatchObject({ type: "ai", content: "Hi there." });
    const begun = await runs.create(thread_id, "assistant", { input: human("Again"), streamMode: ["messages-tuple", "values"] });
    expect(["pending", "running", "success"]).toContain(begun.status);
    const joined = (await runs.join(thread_id, begun.run_id)) as unknown as StateValues;
    expect(joined.messages).toHaveLength(4);
    const all = await framesOf(runs.joinStream(thread_id, begun.run_id));
    expect(textOf(all)).toBe("Hi there.");
    const place = all.findIndex(({ event }) => event === "messages") + 1;
    const rest = await framesOf(runs.joinStream(thread_id, begun.run_id, { lastEventId: all[place]?.id ?? "" }));
    expect(rest).toEqual(all.slice(place + 1));
    const values = await framesOf(runs.joinStream(thread_id, begun.run_id, { streamMode: "values" }));
    expect(new Set(values.map(({ event }) => event))).toEqual(new Set(["metadata", "values"]));
  });

  test("that another request began is joined from the stored turn, with its last state", async () => {
    const answer = await fetch(`${opened.url}/api/v1/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user_id: "ada", session_id: "elsewhere", message: "Hello" }),
    });
    const turnId = answer.headers.get("x-turn-id") ?? "";
    const { conversation_id: threadId } = (await answer.json()) as { conversation_id: string };
    const frames = await framesOf(client().runs.joinStream(threadId, turnId));
    expect(frames.map(({ event }) => event)).toEqual(["metadata", "values"]);
    expect(lastOf(frames).messages.at(-1)?.content).toBe("Hi there.");
    expect(await client().threads.get(threadId)).toMatchObject({ metadata: { session_id: "elsewhere", user_id: "ada" }, status: "idle" });
  });

  test("can be cancelled, and the half answer is kept as incomplete", async () => {
    opened.model.answer({ tokens: ["half "], ending: "hang" });
    const { thread_id } = await ofAda();
    const { runs, threads } = client();
    const { run_id } = await runs.create(thread_id, "assistant", { input: human("Hello"), streamMode: "messages-tuple" });
    await untilSaid(thread_id, run_id, "half ");
    expect(await threads.get(thread_id)).toMatchObject({ status: "busy" });
    expect(await refusalOf(runs.wait(thread_id, "assistant", { input: human("Now?") }))).toMatchObject({ status: 409 });
    await runs.cancel(thread_id, run_id, true);
    expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "interrupted" });
    expect((await listMessages(opened.url, thread_id)).map(({ content, completed }) => [content, completed])).toEqual([
      ["Hello", true],
      ["half ", false],
    ]);
    says("Once more.");
    const next = (await runs.wait(thread_id, "assistant", {
      input: human("Now?"),
      multitaskStrategy: "enqueue",
    })) as unknown as StateValues;
    expect(next.messages.at(-1)?.content).toBe("Once more.");
  });

  test('with the strategy "interrupt" replaces the run before it', async () => {
    opened.model.answer({ tokens: ["half "], ending: "hang" });
    const { thread_id } = await ofAda();
    const { runs } = client();
    const { run_id } = await runs.create(thread_id, "assistant", { input: human("Hello"), streamMode: "messages-tuple" });
    await untilSaid(thread_id, run_id, "half ");
    says("Instead.");
    const instead = (await runs.wait(thread_id, "assistant", {
      input: human("No, this"),
      multitaskStrategy: "interrupt",
    })) as unknown as StateValues;
    expect(instead.messages.at(-1)?.content).toBe("Instead.");
    expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "interrupted" });
  });

  test("ends with its own error when it fails, which `wait` throws", async () => {
    opened.model.answer({ status: 500 });
    const { thread_id } = await ofAda();
    const frames = await run(thread_id, "Hello");
    expect(frames.at(-1)).toMatchObject({ event: "error", data: { error: "model_unavailable", message: expect.any(String) } });
    expect(await refusalOf(client().runs.wait(thread_id, "assistant", { input: human("Again") }))).toMatchObject({
      message: expect.stringContaining("model_unavailable"),
    });
    const [state] = await client().threads.getHistory(thread_id);
    expect(state?.tasks).toMatchObject([{ error: expect.stringContaining("model_unavailable") }]);
    expect(statusesOf(await client().runs.list(thread_id))).toEqual(["error", "error"]);
  });

  test("without a thread is answered with memory, and stores no message", async () => {
    const { runs, threads } = client();
    const before = await threads.count({ metadata: { user_id: "eve" } });
    const values = (await runs.wait(null, "assistant", {
      input: human("Hello"),
      config: { configurable: { user_id: "eve" } },
    })) as unknown as StateValues;
    expect(values.messages.map(({ content }) => content)).toEqual(["Hello", "Hi there."]);
    const frames = await framesOf(
      runs.stream(null, "assistant", { input: human("Hello"), streamMode: "values", context: { user_id: "eve" } }),
    );
    expect(lastOf(frames).messages.at(-1)?.content).toBe("Hi there.");
    expect(await threads.count({ metadata: { user_id: "eve" } })).toBe(before);
  });

  test("loses its exchange when it is deleted", async () => {
    const { thread_id } = await ofAda();
    await run(thread_id, "one");
    await run(thread_id, "two");
    const [newest] = await client().runs.list(thread_id);
    await client().runs.delete(thread_id, newest?.run_id ?? "");
    expect((await listMessages(opened.url, thread_id)).map(({ content }) => content)).toEqual(["one", "Hi there."]);
  });
});
