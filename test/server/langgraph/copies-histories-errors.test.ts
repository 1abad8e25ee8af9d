import { beforeEach, describe, expect, test } from "@jest/globals";
import { connectTo, parseChunkedResponse, postBytes } from "../../support/clients/raw-connection.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { framesOf, human, langGraphClient, refusalOf, type StateValues } from "./langgraph-client.ts";

// The cases of the tests of LangGraph's own server for copies, histories, errors and streams that are read again.

const opened = useServiceWithModel({}, { heartbeatMs: 50 });
const client = () => langGraphClient(opened.url);
let threadId: string;
beforeEach(async () => {
  opened.model.answer({ tokens: ["Hi ", "there."] });
  threadId = (await client().threads.create({ metadata: { user_id: "ada" } })).thread_id;
});
const say = (text: string, more: object = {}) => client().runs.wait(threadId, "assistant", { input: human(text), ...more });
const begin = (text: string) => client().runs.create(threadId, "assistant", { input: human(text), streamMode: "values" });
const lengths = (history: readonly { values: StateValues }[]): number[] => history.map(({ values }) => values.messages.length);

describe("a copy of a thread", () => {
  test("has the thread's state and history under its own id", async () => {
    await say("one");
    await say("two");
    const { thread_id: copy } = (await client().threads.copy(threadId)) as unknown as { thread_id: string };
    const { threads } = client();
    const renamed = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll(threadId, copy));
    expect(await threads.getState(copy)).toEqual(renamed(await threads.getState(threadId)));
    expect(await threads.getHistory(copy)).toEqual(renamed(await threads.getHistory(threadId)));
  });
});

describe("the history of a thread", () => {
  test("is empty before the first run, and is filtered by the metadata of its runs", async () => {
    const { threads } = client();
    expect(await threads.getHistory(threadId)).toEqual([]);
    await say("one");
    await say("two", { metadata: { topic: "boats" } });
    await say("three");
    expect(lengths(await threads.getHistory<StateValues>(threadId))).toEqual([6, 4, 2]);
    expect(lengths(await threads.getHistory<StateValues>(threadId, { metadata: { topic: "boats" } }))).toEqual([4]);
    expect(await threads.getHistory(threadId, { metadata: { topic: "trains" } })).toEqual([]);
    expect((await threads.getHistory(threadId, { limit: 2 }))[1]?.metadata).toMatchObject({ topic: "boats", thread_id: threadId });
  });
});

describe("a run that fails", () => {
  const ERROR = { error: "model_unavailable", message: expect.any(String) as unknown };
  beforeEach(() => opened.model.answer({ status: 500 }));

  test("in the background is joined without an error of the call, and its thread shows the failure", async () => {
    const { run_id: runId } = await begin("one");
    expect(await client().runs.join(threadId, runId)).toEqual({ __error__: ERROR });
    expect(await client().runs.get(threadId, runId)).toMatchObject({ status: "error" });
    const { threads } = client();
    const failed = { metadata: { user_id: "ada" }, status: "error" as const, ids: [threadId] };
    expect(await threads.get(threadId)).toMatchObject({ status: "error", error: expect.stringContaining("model_unavailable") as unknown });
    expect(await threads.search(failed)).toMatchObject([{ thread_id: threadId, status: "error" }]);
    opened.model.answer({ tokens: ["Better."] });
    await say("again");
    expect(await threads.get(threadId)).toMatchObject({ status: "idle", error: null });
    expect(await threads.search(failed)).toEqual([]);
  });

  test("shows its error at the end of its stream, and again to a client that joins later", async () => {
    const { run_id: runId } = await begin("one");
    const frames = await framesOf(client().runs.joinStream(threadId, runId));
    expect(frames.at(-1)).toMatchObject({ event: "error", data: ERROR });
    expect((await framesOf(client().runs.joinStream(threadId, runId))).at(-1)).toEqual(frames.at(-1));
  });

  test("makes `wait` throw its error, or return it when it is told not to throw", async () => {
    expect(await refusalOf(say("one"))).toMatchObject({ message: expect.stringMatching(/^model_unavailable: /) as unknown });
    expect(await say("two", { raiseError: false })).toEqual({ __error__: ERROR });
  });

  test.each<[string, () => Promise<unknown>]>([
    ["wait", () => client().runs.wait(threadId, "nobody", { input: human("x") })],
    ["create", () => client().runs.create(threadId, "nobody", { input: human("x") })],
    ["stream", () => framesOf(client().runs.stream(threadId, "nobody", { input: human("x") }))],
  ])("is refused with 404 and the assistant's name when `%s` names an unknown assistant", async (_method, call) => {
    expect(await refusalOf(call())).toMatchObject({ status: 404, message: expect.stringContaining('assistant \\"nobody\\"') as unknown });
    expect(await client().runs.list(threadId)).toEqual([]);
  });
});

describe("a run's stream", () => {
  test("is the same for a second reader who begins at its first event while it goes on", async () => {
    const gate = Promise.withResolvers<void>();
    opened.model.answer({ tokens: ["Hi ", "there."], until: gate.promise });
    const created = Promise.withResolvers<{ run_id: string }>();
    const source = framesOf(
      client().runs.stream(threadId, "assistant", {
        input: human("one"),
        streamResumable: true,
        streamMode: ["values", "custom"],
        onRunCreated: created.resolve,
      }),
    );
    const { run_id: runId } = await created.promise;
    const again = framesOf(client().runs.joinStream(threadId, runId, { lastEventId: "-1" }));
    gate.resolve();
    expect(await again).toEqual(await source);
  });

  test("is not changed by options that this service ignores", async () => {
    const nothing = { feedbackKeys: ["thumbs"], durability: "sync" as const, checkpointDuring: true };
    const frames = await framesOf(client().runs.stream(threadId, "assistant", { input: human("one"), streamMode: "values", ...nothing }));
    expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(["metadata", "values"]));
  });
});

describe("an answer to `wait` for a slow run", () => {
  test("begins with spaces, which JSON allows, and then has the values", async () => {
    const release = opened.model.hold(["Hi."]);
    const connection = await connectTo(opened.url);
    const body = { assistant_id: "assistant", input: human("one") };
    connection.socket.write(postBytes(`/langgraph/threads/${threadId}/runs/wait`, body));
    await waitUntil("three spaces", () => connection.received().split("\r\n1\r\n \r\n").length > 3);
    release();
    await connection.until("\r\n0\r\n\r\n");
    connection.socket.destroy();
    const { headers, chunks } = parseChunkedResponse(connection.received());
    expect(headers).toMatchObject({ "content-type": "application/json; charset=utf-8" });
    expect(headers["content-location"]).toMatch(new RegExp(`^/threads/${threadId}/runs/[0-9a-f-]{36}$`));
    const { messages } = JSON.parse(chunks.join("")) as StateValues;
    expect(messages.map(({ content }) => content)).toEqual(["one", "Hi."]);
  });

  test("has a late error in its body", async () => {
    const gate = Promise.withResolvers<void>();
    opened.model.answer({ tokens: [], until: gate.promise, ending: "cut" });
    const waiting = fetch(`${opened.url}/langgraph/threads/${threadId}/runs/wait`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ assistant_id: "assistant", input: human("one") }),
    });
    const { status, body } = await waiting;
    gate.resolve();
    expect(status).toBe(200);
    expect(await new Response(body).json()).toMatchObject({ __error__: { error: expect.stringMatching(/^model_/) as unknown } });
  });
});
