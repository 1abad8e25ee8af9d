import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Run } from "@langchain/langgraph-sdk";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { framesOf, human, langGraphClient, refusalOf, type StateValues, statusesOf, textOf } from "./langgraph-client.ts";

// The cases of the tests of LangGraph's own server for several runs of one thread.

const opened = useServiceWithModel();
const client = () => langGraphClient(opened.url);

type MultitaskStrategy = NonNullable<Run["multitask_strategy"]>;

let release: () => void;
let threadId: string;
/** The model answers "first" when it is released, and everything else at once. */
beforeEach(async () => {
  const gate = Promise.withResolvers<void>();
  release = gate.resolve;
  opened.model.answer(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
    return asked.includes("first") ? { tokens: ["FIRST"], until: gate.promise } : { tokens: ["Hi."] };
  });
  threadId = (await client().threads.create({ metadata: { user_id: "ada" } })).thread_id;
});

const begin = (text: string, multitaskStrategy: MultitaskStrategy = "reject"): Promise<Run> =>
  client().runs.create(threadId, "assistant", { input: human(text), multitaskStrategy, metadata: { text }, streamMode: "messages-tuple" });
const statusOf = async ({ run_id: runId }: Run): Promise<string> => (await client().runs.get(threadId, runId)).status;
const list = async (status?: Run["status"]): Promise<unknown[]> =>
  (await client().runs.list(threadId, status ? { status } : {})).map(({ metadata }) => metadata?.["text"]);
const texts = async (): Promise<string[]> =>
  (await client().threads.getState<StateValues>(threadId)).values.messages.map(({ content }) => content);
const wait = (text: string, multitaskStrategy: MultitaskStrategy) =>
  client().runs.wait(threadId, "assistant", { input: human(text), multitaskStrategy });
const join = ({ run_id: runId }: Run): Promise<unknown> => client().runs.join(threadId, runId);
const joined = async ({ run_id: runId }: Run): Promise<string> => textOf(await framesOf(client().runs.joinStream(threadId, runId)));

/** The first run, at the model. */
async function beginFirst(): Promise<Run> {
  const seen = opened.model.seen.length;
  const run = await begin("first");
  await opened.model.untilAsked(seen + 1);
  return run;
}

describe('the strategy "reject"', () => {
  test.each<[string, () => Promise<unknown>]>([
    ["create", () => begin("second")],
    ["wait", () => wait("second", "reject")],
    ["stream", () => framesOf(client().runs.stream(threadId, "assistant", { input: human("second"), multitaskStrategy: "reject" }))],
    ["create without a strategy", () => client().runs.create(threadId, "assistant", { input: human("second") })],
  ])("refuses a second run by %s with 409, and the first run ends as usual", async (_method, call) => {
    const first = await beginFirst();
    expect(await refusalOf(call())).toMatchObject({ status: 409, message: expect.stringContaining("conversation_busy") });
    release();
    await join(first);
    expect(await statusOf(first)).toBe("success");
    expect(await texts()).toEqual(["first", "FIRST"]);
    expect(await list()).toEqual(["first"]);
  });
});

describe('the strategy "enqueue"', () => {
  test("lets runs wait in line, lists them as pending with their metadata, and runs them one after the other", async () => {
    const first = await beginFirst();
    const second = await begin("second", "enqueue");
    const third = await begin("third", "enqueue");
    expect(await list("pending")).toEqual(["third", "second"]);
    expect(await list("running")).toEqual(["first"]);
    expect(await list()).toEqual(["third", "second", "first"]);
    expect(await client().runs.get(threadId, second.run_id)).toMatchObject({
      run_id: second.run_id,
      thread_id: threadId,
      status: "pending",
      multitask_strategy: "enqueue",
      metadata: { text: "second" },
    });
    expect(await client().threads.get(threadId)).toMatchObject({ status: "busy" });
    release();
    await Promise.all([join(second), join(third)]);
    expect(await Promise.all([first, second, third].map(statusOf))).toEqual(["success", "success", "success"]);
    expect(await texts()).toEqual(["first", "FIRST", "second", "Hi.", "third", "Hi."]);
    expect(await list("pending")).toEqual([]);
  });

  test("lets any number of clients join, stream and wait for a run in line before it begins", async () => {
    await beginFirst();
    const second = await begin("second", "enqueue");
    const readers = [joined(second), joined(second), join(second).then((values) => (values as StateValues).messages.at(-1)?.content)];
    const streamed = framesOf(
      client().runs.stream(threadId, "assistant", { input: human("third"), multitaskStrategy: "enqueue", streamMode: "messages-tuple" }),
    );
    release();
    expect(await Promise.all(readers)).toEqual(["Hi.", "Hi.", "Hi."]);
    const frames = await streamed;
    expect([frames[0]?.event, textOf(frames)]).toEqual(["metadata", "Hi."]);
  });

  test.each(["interrupt", "rollback"] as const)("lets a run in line be cancelled with %s, and the other runs go on", async (action) => {
    await beginFirst();
    const second = await begin("second", "enqueue");
    const third = await begin("third", "enqueue");
    const joining = join(second);
    await client().runs.cancel(threadId, second.run_id, true, action);
    expect(await statusOf(second)).toBe("interrupted");
    expect(await joining).toMatchObject({ __error__: { error: "turn_cancelled" } });
    expect(await join(second)).toMatchObject({ __error__: { error: "turn_cancelled" } });
    expect(await list()).toEqual(["third", "first"]);
    release();
    await join(third);
    expect(await texts()).toEqual(["first", "FIRST", "third", "Hi."]);
  });
});

describe("a later run of a thread", () => {
  test('with "interrupt" stops the running one and goes before the runs in line, which stay there', async () => {
    const first = await beginFirst();
    const second = await begin("second", "enqueue");
    const third = await begin("third", "interrupt");
    await Promise.all([join(third), join(second)]);
    expect(await Promise.all([first, second, third].map(statusOf))).toEqual(["interrupted", "success", "success"]);
    expect((await texts()).filter((text) => text !== "Hi." && text !== "")).toEqual(["first", "third", "second"]);
    expect(await list("interrupted")).toEqual(["first"]);
  });

  test('with "interrupt" ends when it is the last of several, and each other run is interrupted or over', async () => {
    await beginFirst();
    const others = await Promise.all(["second", "third", "fourth"].map((text) => begin(text, "interrupt")));
    await Promise.all(others.map(join));
    const statuses = statusesOf(await client().runs.list(threadId));
    expect(statuses[0]).toBe("success");
    expect(statuses.at(-1)).toBe("interrupted");
    expect(new Set(statuses)).toEqual(new Set(["success", "interrupted"]));
    expect(await client().threads.get(threadId)).toMatchObject({ status: "idle" });
  });

  test('with "rollback" takes the running one and its question off the path', async () => {
    const first = await beginFirst();
    const second = await begin("second", "rollback");
    await join(second);
    expect(await texts()).toEqual(["second", "Hi."]);
    expect(await statusOf(first)).toBe("interrupted");
  });
});

describe("a run that is going on", () => {
  test("protects its thread, whose state cannot be written and which is not deleted", async () => {
    const { run_id: runId } = await beginFirst();
    const goBack = client().threads.updateState(threadId, { values: null, checkpointId: threadId });
    expect(await refusalOf(goBack)).toMatchObject({ status: 409 });
    expect(await refusalOf(client().runs.delete(threadId, runId))).toMatchObject({ status: 409 });
    await client().runs.cancel(threadId, runId, true);
    await client().threads.updateState(threadId, { values: null, checkpointId: threadId });
    expect(await texts()).toEqual([]);
  });

  const aborted = async (call: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
    const leaving = new AbortController();
    const seen = opened.model.seen.length;
    const reading = call(leaving.signal).catch(() => undefined);
    await opened.model.untilAsked(seen + 1);
    leaving.abort();
    await reading;
  };
  const asked = (onDisconnect: "cancel" | "continue") => (signal: AbortSignal) => ({ input: human("first"), onDisconnect, signal });
  test.each<[string, (signal: AbortSignal) => Promise<unknown>, string]>([
    ["stream, cancel", (signal) => framesOf(client().runs.stream(threadId, "assistant", asked("cancel")(signal))), "interrupted"],
    ["wait, cancel", (signal) => client().runs.wait(threadId, "assistant", asked("cancel")(signal)), "interrupted"],
    ["stream, continue", (signal) => framesOf(client().runs.stream(threadId, "assistant", asked("continue")(signal))), "success"],
    ["wait, continue", (signal) => client().runs.wait(threadId, "assistant", asked("continue")(signal)), "success"],
  ])("follows on_disconnect when its client leaves: %s", async (what, call, expected) => {
    await aborted(call);
    if (what.endsWith("continue")) release();
    await waitUntil(`the run is ${expected}`, async () => statusesOf(await client().runs.list(threadId))[0] === expected);
  });

  test("is cancelled when the last client that joined with cancelOnDisconnect leaves", async () => {
    const run = await beginFirst();
    const leaving = new AbortController();
    const joining = client().runs.joinStream(threadId, run.run_id, { cancelOnDisconnect: true, signal: leaving.signal });
    await joining.next(); // its metadata
    leaving.abort();
    await joining.return(undefined).catch(() => undefined);
    await waitUntil("the run is interrupted", async () => (await statusOf(run)) === "interrupted");
  });
});
