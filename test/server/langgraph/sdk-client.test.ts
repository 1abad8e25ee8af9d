import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@langchain/langgraph-sdk";
import { v7 as uuidv7 } from "uuid";
import { askingClient, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import {
  framesOf,
  human,
  langGraphClient,
  lastOf,
  type SentFrame,
  type StateValues,
  statusesOf,
  refusalOf,
  textOf,
} from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);

/** A thread of a user of its own with one run that is over. */
interface At {
  user: string;
  thread: string;
  run: string;
}
let at: At;
beforeEach(async () => {
  await askingClient(opened).makeAgent("asks");
  opened.model.answer({ tokens: ["Hi ", "there."] });
  const user = `ada-${uuidv7()}`;
  const { thread_id: thread } = await client().threads.create({ metadata: { user_id: user, topic: "boats" } });
  const { run_id: run } = await client().runs.create(thread, "assistant", {
    input: human("Hello"),
    streamMode: ["messages-tuple", "values"],
  });
  await client().runs.join(thread, run);
  at = { user, thread, run };
});

const last = (values: unknown): string | undefined => (values as StateValues).messages.at(-1)?.content;
const texts = (values: unknown): string[] => (values as StateValues).messages.map(({ content }) => content);
const events = async (stream: AsyncIterable<SentFrame>): Promise<string[]> => [
  ...new Set((await framesOf(stream)).map(({ event }) => event)),
];
const stored = async (c: Client, key: string): Promise<void> => c.store.putItem([at.user, "core"], key, { content: "A pilot." });

const input = human("And?");

type Row = [method: string, call: (c: Client) => unknown, returns: unknown];

/** Every method that is offered: a call, and what it returns. */
const OFFERED: Row[] = [
  ["assistants.search", async (c) => (await c.assistants.search()).map(({ name }) => name), ["asks", "assistant"]],
  [
    "assistants.search, a page",
    async (c) => {
      const { assistants, next } = await c.assistants.search({ limit: 1, includePagination: true });
      return [assistants[0]?.name, next];
    },
    ["asks", "1"],
  ],
  ["assistants.count", (c) => c.assistants.count(), 2],
  ["assistants.get", (c) => c.assistants.get("asks"), expect.objectContaining({ name: "asks", graph_id: "conversation", version: 1 })],
  [
    "assistants.getGraph",
    async (c) => (await c.assistants.getGraph("asks", { xray: true })).nodes.map(({ id }) => id),
    expect.arrayContaining(["route", "retrieve", "generate_agent:model", "persist"]),
  ],
  [
    "assistants.getSchemas",
    async (c) => Object.keys((await c.assistants.getSchemas("asks")).state_schema?.properties ?? {}),
    expect.arrayContaining(["messages", "core_memory", "receipt"]),
  ],
  ["assistants.getSubgraphs", async (c) => Object.keys(await c.assistants.getSubgraphs("asks")), ["generate_agent"]],
  [
    "assistants.getSubgraphs, of a namespace",
    async (c) => Object.keys(await c.assistants.getSubgraphs("asks", { namespace: "generate_agent" })),
    ["generate_agent"],
  ],
  ["assistants.getVersions", async (c) => (await c.assistants.getVersions("asks")).at(-1)?.version, 1],
  ["threads.create", (c) => c.threads.create({ metadata: { user_id: "ada" } }), expect.objectContaining({ status: "idle", values: {} })],
  ["threads.get", (c) => c.threads.get(at.thread), expect.objectContaining({ status: "idle", thread_id: expect.any(String) as unknown })],
  [
    "threads.update",
    async (c) => (await c.threads.update(at.thread, { metadata: { mood: "good" } })).metadata,
    expect.objectContaining({ topic: "boats", mood: "good" }),
  ],
  ["threads.update, without an answer", (c) => c.threads.update(at.thread, { metadata: { mood: "good" }, returnMinimal: true }), undefined],
  ["threads.copy", async (c) => last((await c.threads.getState(await copyOf(c, at.thread))).values), "Hi there."],
  ["threads.search", async (c) => statusesOf(await c.threads.search({ metadata: { user_id: at.user } })), ["idle"]],
  ["threads.count", (c) => c.threads.count({ metadata: { user_id: at.user } }), 1],
  ["threads.getState", async (c) => texts((await c.threads.getState(at.thread)).values), ["Hello", "Hi there."]],
  [
    "threads.getState, at a checkpoint",
    async (c) => (await c.threads.getState(at.thread, at.run)).checkpoint.checkpoint_id === at.run,
    true,
  ],
  ["threads.getHistory", async (c) => (await c.threads.getHistory(at.thread)).map(({ values }) => last(values)), ["Hi there."]],
  [
    "threads.updateState, back to the beginning",
    async (c) => {
      await c.threads.updateState(at.thread, { values: null, checkpointId: at.thread });
      return texts((await c.threads.getState(at.thread)).values);
    },
    [],
  ],
  ["threads.delete", (c) => c.threads.delete(at.thread), undefined],
  [
    "runs.stream",
    async (c) => textOf(await framesOf(c.runs.stream(at.thread, "asks", { input, streamMode: "messages-tuple" }))),
    "Hi there.",
  ],
  [
    "runs.stream, without a thread",
    async (c) => last(lastOf(await framesOf(c.runs.stream(null, "asks", { input, streamMode: "values" })))),
    "Hi there.",
  ],
  ["runs.wait", async (c) => texts(await c.runs.wait(at.thread, "asks", { input })), ["Hello", "Hi there.", "And?", "Hi there."]],
  ["runs.wait, without a thread", async (c) => texts(await c.runs.wait(null, "asks", { input })), ["And?", "Hi there."]],
  ["runs.create", (c) => c.runs.create(at.thread, "asks", { input }), expect.objectContaining({ run_id: expect.any(String) as unknown })],
  ["runs.list", async (c) => statusesOf(await c.runs.list(at.thread)), ["success"]],
  ["runs.get", async (c) => (await c.runs.get(at.thread, at.run)).status, "success"],
  ["runs.join", async (c) => last(await c.runs.join(at.thread, at.run)), "Hi there."],
  ["runs.joinStream", (c) => events(c.runs.joinStream(at.thread, at.run)), ["metadata", "values", "messages"]],
  ["runs.joinStream, behind an event", (c) => events(c.runs.joinStream(at.thread, at.run, { lastEventId: "2" })), ["values", "messages"]],
  ["runs.joinStream, without a thread", async (c) => last(await rejoined(c)), "Hi there."],
  ["runs.cancel", (c) => c.runs.cancel(at.thread, at.run, true), undefined],
  ["runs.delete", (c) => c.runs.delete(at.thread, at.run), undefined],
  ["store.putItem", (c) => stored(c, "profile"), undefined],
  [
    "store.getItem",
    async (c) => {
      await stored(c, "profile");
      return (await c.store.getItem([at.user, "core"], "profile"))?.value;
    },
    { content: "A pilot.", version: 1, updated_by: "person" },
  ],
  [
    "store.searchItems",
    async (c) => {
      await stored(c, "profile");
      return (await c.store.searchItems([at.user])).items.map(({ key }) => key);
    },
    ["profile"],
  ],
  [
    "store.listNamespaces",
    async (c) => {
      await stored(c, "profile");
      return (await c.store.listNamespaces({ prefix: [at.user] })).namespaces.map(([, kind]) => kind);
    },
    ["core"],
  ],
  ["store.deleteItem", (c) => c.store.deleteItem([at.user, "core"], "profile"), undefined],
];

const copyOf = async (c: Client, thread: string): Promise<string> =>
  ((await c.threads.copy(thread)) as unknown as { thread_id: string }).thread_id;

/** The stream of a run without a thread, read a second time. */
async function rejoined(c: Client): Promise<StateValues> {
  const [first] = await framesOf(c.runs.stream(null, "asks", { input, streamMode: "values" }));
  const { run_id: run } = first?.data as { run_id: string };
  return lastOf(await framesOf(c.runs.joinStream(null, run)));
}

const schedule = "* * * * *";
/** Every other method: a call, and the words of its refusal. */
const REFUSED: [method: string, call: (c: Client) => Promise<unknown>, words: string][] = [
  ["assistants.create", (c) => c.assistants.create({ graphId: "conversation" }), "PUT /api/v1/agents"],
  ["assistants.update", (c) => c.assistants.update("asks", { name: "other" }), "PUT /api/v1/agents"],
  ["assistants.delete", (c) => c.assistants.delete("asks"), "DELETE /api/v1/agents"],
  ["assistants.setLatest", (c) => c.assistants.setLatest("asks", 1), "PUT /api/v1/agents"],
  ["threads.prune", (c) => c.threads.prune([at.thread]), "RETENTION_DAYS"],
  ["threads.patchState", (c) => c.threads.patchState(at.thread, { a: 1 }), "PATCH /langgraph/threads"],
  ["threads.joinStream", (c) => framesOf(c.threads.joinStream(at.thread)), "join the stream of a run"],
  ["threads.stream", (c) => c.threads.stream(at.thread, { assistantId: "asks" }).submitRun({ input: human("x") }), "legacy"],
  ["runs.createBatch", (c) => c.runs.createBatch([{ assistantId: "asks", input: human("x") }]), "one by one"],
  ["runs.cancelMany", (c) => c.runs.cancelMany({ threadId: at.thread, runIds: [at.run] }), "one by one"],
  ["crons.createForThread", (c) => c.crons.createForThread(at.thread, "asks", { schedule }), "scheduler"],
  ["crons.create", (c) => c.crons.create("asks", { schedule }), "scheduler"],
  ["crons.update", (c) => c.crons.update(uuidv7(), { schedule }), "scheduler"],
  ["crons.delete", (c) => c.crons.delete(uuidv7()), "scheduler"],
  ["crons.search", (c) => c.crons.search(), "scheduler"],
  ["crons.count", (c) => c.crons.count(), "scheduler"],
  ["~ui.getComponent", (c) => c["~ui"].getComponent("asks", "card"), "values of a thread"],
];

/** What the classes of the client declare, without what they all inherit. */
function declaredMethods(): string[] {
  return Object.entries(client()).flatMap(([name, part]) => {
    if (typeof part !== "object" || part === null) return [];
    const declared = Object.getOwnPropertyNames(Object.getPrototypeOf(part));
    return declared.filter((method) => method !== "constructor").map((method) => `${name}.${method}`);
  });
}
const methodsOf = (rows: readonly (readonly [string, ...unknown[]])[]): string[] => [
  ...new Set(rows.map(([method]) => method.split(",")[0] ?? "")),
];

describe("LangGraph's client from npm, unchanged,", () => {
  test("has no method that is not tested here", () => {
    expect(declaredMethods().toSorted()).toEqual([...methodsOf(OFFERED), ...methodsOf(REFUSED)].toSorted());
  });

  test.each(OFFERED)("calls %s and gets the promised result", async (_method, call, returns) => {
    expect(await call(client())).toEqual(returns);
  });

  test.each(REFUSED)("calls %s, gets 422 with a hint, and the documentation names this method", async (method, call, words) => {
    expect(await refusalOf(call(client()))).toMatchObject({ status: 422, message: expect.stringContaining(words) as unknown });
    expect(await readFile("docs/langgraph.md", "utf8")).toContain(`\`${method}\``);
  });
});
