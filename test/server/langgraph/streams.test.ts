import { beforeEach, describe, expect, test } from "@jest/globals";
import type { StreamMode } from "@langchain/langgraph-sdk";
import { askingClient, callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, lastOf, type SentFrame, type StateValues, textOf } from "./langgraph-client.ts";
import { readFile } from "node:fs/promises";
import { callApi } from "../../support/clients/api-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });

describe("the stream of a run, by LangGraph's client,", () => {
  const client = () => langGraphClient(opened.url);
  let asking: ReturnType<typeof askingClient>;
  beforeEach(async () => {
    asking = askingClient(opened);
    await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
    opened.model.answer({ tokens: ["Hi ", "there."] });
  });
  const MODES = [
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "tasks",
    "checkpoints",
    "debug",
    "events",
  ] satisfies StreamMode[];
  const RULE = "Never say the word cormorant.";
  const ofAda = () => client().threads.create({ metadata: { user_id: "ada" } });
  async function run(streamMode: StreamMode[], more: object = {}, agent = "assistant"): Promise<{ frames: SentFrame[]; threadId: string }> {
    const { thread_id: threadId } = await ofAda();
    const asked = { input: human("Hello"), streamMode, context: { instructions: RULE }, ...more };
    return { threadId, frames: await framesOf(client().runs.stream(threadId, agent, asked)) };
  }
  const named = (frames: readonly SentFrame[], event: string): unknown[] =>
    frames.filter((frame) => frame.event === event).map(({ data }) => data);
  interface Checkpointed {
    values: Partial<StateValues>;
    next: string[];
    checkpoint: { thread_id: string; checkpoint_id: string };
    parent_checkpoint: { checkpoint_id: string } | null;
    tasks: { name: string; interrupts: { value: { type: string } }[] }[];
  }
  interface GraphEvent {
    event: string;
    name: string;
    data: { chunk?: { content: string; type: string }; input?: unknown };
  }
  /** What a client reads in each mode of the same turn. */
  const WHAT: Record<(typeof MODES)[number], (frames: SentFrame[]) => unknown> = {
    values: (frames) => lastOf(frames).messages.at(-1)?.content,
    updates: (frames) =>
      named(frames, "updates")
        .flatMap((data) => Object.keys(data as object))
        .toSorted(),
    messages: (frames) => [...new Set(frames.map(({ event }) => event))],
    "messages-tuple": textOf,
    custom: (frames) => named(frames, "custom").map((data) => (data as { status: string }).status),
    tasks: (frames) => new Set(named(frames, "tasks").map((data) => (data as { name: string }).name)),
    checkpoints: (frames) => (named(frames, "checkpoints") as Checkpointed[]).map(({ next }) => next.toSorted().join(" ")),
    debug: (frames) => [...new Set(named(frames, "debug").map((data) => (data as { type: string }).type))],
    events: (frames) =>
      (named(frames, "events") as GraphEvent[])
        .filter(({ event }) => event === "on_chat_model_stream")
        .map(({ data }) => data.chunk?.content)
        .join(""),
  };
  const STEPS = ["core_memory", "generate", "history", "persist", "retrieve", "route"];
  const EXPECTED: Record<(typeof MODES)[number], unknown> = {
    values: "Hi there.",
    updates: STEPS,
    messages: ["metadata", "messages/metadata", "messages/partial", "messages/complete"],
    "messages-tuple": "Hi there.",
    custom: ["route_decision", "token", "token", "done"],
    tasks: new Set(STEPS),
    checkpoints: ["__start__", "core_memory history route", "retrieve", "generate", "persist", ""],
    debug: ["checkpoint", "task", "task_result"],
    events: "Hi there.",
  };

  test.each(MODES)("shows the turn in the mode %s, and nothing that only the service may know", async (mode) => {
    const { frames } = await run([mode]);
    expect(frames[0]?.event).toBe("metadata");
    expect(WHAT[mode](frames)).toEqual(EXPECTED[mode]);
    expect(JSON.stringify(opened.model.seen.at(-1)?.body)).toContain("cormorant");
    expect(JSON.stringify(frames)).not.toMatch(/cormorant|tenantId|turn_lease/);
  });

  test("in all modes at once has the same events as in each mode alone, and goes on after any event", async () => {
    const { frames, threadId } = await run(MODES);
    for (const mode of MODES.filter((one) => one !== "messages")) expect(WHAT[mode](frames)).toEqual(EXPECTED[mode]);
    const { run_id: runId } = frames[0]?.data as { run_id: string };
    for (const place of [1, Math.floor(frames.length / 2), frames.length - 2]) {
      const rest = await framesOf(client().runs.joinStream(threadId, runId, { lastEventId: frames[place]?.id ?? "" }));
      expect(rest).toEqual(frames.slice(place + 1));
    }
  });

  test("ends in a checkpoint that is the state of the thread, under the id of the turn", async () => {
    const { frames, threadId } = await run(["checkpoints"]);
    const told = named(frames, "checkpoints") as Checkpointed[];
    const state = await client().threads.getState<StateValues>(threadId);
    const last = told.at(-1);
    expect(last?.checkpoint).toEqual(state.checkpoint);
    expect(last?.values.messages?.map(({ content }) => content)).toEqual(state.values.messages.map(({ content }) => content));
    for (const [index, { parent_checkpoint: parent }] of told.entries())
      expect(parent?.checkpoint_id).toBe(told[index - 1]?.checkpoint.checkpoint_id);
  });

  test("shows a question in its last checkpoint, as the state does", async () => {
    await asking.makeAgent("asks");
    asking.follow([callOf("order", { item: "tea" })], "Ordered.");
    const { frames, threadId } = await run(["checkpoints", "debug", "events", "updates"], {}, "asks");
    const last = (named(frames, "checkpoints") as Checkpointed[]).at(-1);
    const state = await client().threads.getState(threadId);
    expect(last).toMatchObject({ next: state.next, tasks: [{ name: "generate_agent", interrupts: state.tasks[0]?.interrupts }] });
  });

  test("shows an agent's loop under its own namespace on request", async () => {
    asking.follow([callOf("look_up", { item: "tea" })], "Twelve.");
    const { frames } = await run(["updates", "tasks", "values"], { streamSubgraphs: true }, "looks");
    const inner = frames
      .filter(({ event }) => event.startsWith("updates|generate_agent:"))
      .flatMap(({ data }) => Object.keys(data as object));
    expect(inner).toEqual(["model", "tools", "model"]);
    expect(frames.some(({ event }) => event.startsWith("tasks|generate_agent:"))).toBe(true);
    expect(JSON.stringify(frames)).not.toContain("cormorant");
  });

  test("goes on after a question with only the remaining events", async () => {
    await asking.makeAgent("asks");
    asking.follow([callOf("order", { item: "tea" })], "Ordered.");
    const modes = ["updates", "custom", "values"] satisfies StreamMode[];
    const { frames, threadId } = await run(modes, {}, "asks");
    const { run_id: runId } = frames[0]?.data as { run_id: string };
    const rest = await framesOf(client().runs.stream(threadId, "asks", { command: { resume: "allow_once" }, streamMode: modes }));
    expect(rest[0]?.data).toEqual({ run_id: runId, attempt: 1 });
    const joined = await framesOf(client().runs.joinStream(threadId, runId, { lastEventId: frames.at(-1)?.id ?? "" }));
    expect(joined).toEqual(rest.slice(1));
    const ids = [...frames, ...rest].flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
  });

  test("is the same for all readers, and goes on when one of them leaves", async () => {
    const released = Promise.withResolvers<undefined>();
    opened.model.answer({ tokens: ["Hi ", "there."], until: released.promise });
    const { thread_id: threadId } = await ofAda();
    const { run_id: runId } = await client().runs.create(threadId, "assistant", {
      input: human("Hello"),
      streamMode: ["messages-tuple", "values"],
    });
    const leaving = new AbortController();
    const left = framesOf(client().runs.joinStream(threadId, runId, { signal: leaving.signal })).catch(() => []);
    const watching = [1, 2].map(() => framesOf(client().runs.joinStream(threadId, runId, { streamMode: "messages-tuple" })));
    leaving.abort();
    expect(textOf(await left)).toBe("");
    released.resolve(undefined);
    const [one, other] = await Promise.all(watching);
    expect(one).toEqual(other);
    expect(textOf(one ?? [])).toBe("Hi there.");
  });

  test("ends with an error in every mode", async () => {
    opened.model.answer({ status: 500 });
    const { frames } = await run(["events", "checkpoints", "debug"]);
    expect(frames.at(-1)).toMatchObject({ event: "error", data: { error: "model_unavailable" } });
  });
});

/** The documentation shortens ids with a dot of three. */
const SHORTENED = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-)?…$/;
const anyId = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;
const withAnyIds = (_name: string, value: unknown): unknown => (typeof value === "string" && SHORTENED.test(value) ? anyId : value);
/** The JSON of a section, in order. */
async function shownIn(section: string): Promise<object[]> {
  const text = await readFile("docs/langgraph.md", "utf8");
  const [, rest = ""] = text.split(`## ${section}\n`);
  const [own = ""] = rest.split("\n## ");
  return [...own.matchAll(/```json\n(.*?)```/gs)].map(([, json = ""]) => JSON.parse(json, withAnyIds) as object);
}
test("the data of Studio in the documentation are the data that Studio reads", async () => {
  const asking = askingClient(opened);
  await asking.makeAgent("asks");
  asking.follow([callOf("order", { item: "tea" })], "Ordered.");
  const { threads, runs } = langGraphClient(opened.url);
  const { thread_id: threadId } = await threads.create({ metadata: { user_id: "ada" } });
  await runs.wait(threadId, "asks", { input: human("Order tea.") });
  await callApi(`${opened.url}/api/v1/conversations/${threadId}`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title: "Tea" }),
  });
  const [found] = await threads.search({ metadata: { user_id: "ada" } });
  const [state] = await threads.getHistory(threadId);
  const [thread, newest, ...others] = await shownIn("What Studio shows");
  expect(found).toMatchObject(thread ?? {});
  expect(state).toMatchObject(newest ?? {});
  expect(others).toEqual([]);
  expect([Object.keys(thread ?? {}), Object.keys(newest ?? {})].map(({ length }) => length > 2)).toEqual([true, true]);
});
