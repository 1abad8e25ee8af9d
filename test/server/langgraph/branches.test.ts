import { beforeEach, describe, expect, test } from "@jest/globals";
import { getBranchContext, getMessagesMetadataMap } from "@langchain/langgraph-sdk/ui";
import { askingClient, callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, lastOf, type StateValues } from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);
let threadId: string;
beforeEach(async () => {
  threadId = (await client().threads.create({ metadata: { user_id: "ada" } })).thread_id;
});

async function say(content: string | null, answer: string, checkpointId?: string | null): Promise<void> {
  opened.model.answer({ tokens: [answer] });
  const input = content === null ? null : human(content);
  await client().runs.wait(threadId, "assistant", { input, ...(checkpointId ? { checkpointId } : {}) });
}

/** What `useStream` computes of a history, for a branch that is chosen. */
async function shown(branch = "") {
  const history = await client().threads.getHistory<Record<string, unknown>>(threadId, { limit: 50 });
  const branchContext = getBranchContext(branch, history);
  const getMessages = (values: object) => (values as StateValues).messages as never;
  const map = getMessagesMetadataMap({ initialValues: null, history, getMessages, branchContext });
  const { messages } = branchContext.threadHead?.values as unknown as StateValues;
  return messages.map(({ id, content }) => {
    const { branch: own, branchOptions = [], firstSeenState } = map?.find(({ messageId }) => messageId === id) ?? {};
    return { content, branch: own ?? "", options: branchOptions, parent: firstSeenState?.parent_checkpoint?.checkpoint_id ?? null };
  });
}
const words = (messages: readonly { content: string }[]): string[] => messages.map(({ content }) => content);
const options = (messages: readonly { options: string[] }[]): number[] => messages.map(({ options: all }) => all.length);

describe("branches of a thread, as useStream reads its history", () => {
  test("show the newest answer first, and the earlier one when its branch is chosen", async () => {
    await say("one", "ONE");
    await say("two", "TWO");
    await say(null, "other", (await shown()).at(-1)?.parent);
    const now = await shown();
    expect(words(now)).toEqual(["one", "ONE", "two", "other"]);
    expect(options(now)).toEqual([0, 0, 0, 2]);
    const answer = now.at(-1);
    const before = answer?.options.find((one) => one !== answer.branch) ?? "";
    const then = await shown(before);
    expect([words(then), options(then)]).toEqual([
      ["one", "ONE", "two", "TWO"],
      [0, 0, 0, 2],
    ]);
    await say(null, "third", then.at(-1)?.parent);
    expect([words(await shown()).at(-1), options(await shown()).at(-1)]).toEqual(["third", 3]);
  });

  test("show an edited question first, and the earlier one with all behind it when its branch is chosen", async () => {
    await say("one", "ONE");
    await say("two", "TWO");
    await say("three", "THREE");
    const asked = (await shown())[2];
    await say("zwei", "ZWEI", asked?.parent);
    await say("drei", "DREI");
    const now = await shown();
    expect([words(now), options(now)]).toEqual([
      ["one", "ONE", "zwei", "ZWEI", "drei", "DREI"],
      [0, 0, 2, 0, 0, 0],
    ]);
    const before = now[2]?.options.find((one) => one !== now[2]?.branch) ?? "";
    expect(words(await shown(before))).toEqual(["one", "ONE", "two", "TWO", "three", "THREE"]);
    await say("eins", "EINS", (await shown())[0]?.parent);
    expect([words(await shown()), options(await shown())]).toEqual([
      ["eins", "EINS"],
      [2, 0],
    ]);
  });

  test("are read page by page, each state once, when nothing but the newest path has branches", async () => {
    await say("one", "ONE");
    await say("two", "TWO");
    await say(null, "other", (await shown()).at(-1)?.parent);
    const all = await client().threads.getHistory(threadId, { limit: 50 });
    const ids = all.map(({ checkpoint }) => checkpoint.checkpoint_id ?? "");
    expect([ids.length, new Set(ids).size]).toEqual([4, 4]);
    for (const id of ids) expect((await client().threads.getState(threadId, id)).checkpoint.checkpoint_id).toBe(id);
    const before = { configurable: { checkpoint_id: ids[0] } };
    const rest = await client().threads.getHistory(threadId, { limit: 50, before });
    expect(rest.map(({ checkpoint }) => checkpoint.checkpoint_id)).toEqual(ids.slice(1));
  });
});

describe("what an agent did, in the messages of a thread", () => {
  test("is calls and outputs, in the stream, in the mode tools and in the state", async () => {
    const asking = askingClient(opened);
    await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
    asking.follow([callOf("look_up", { item: "tea" }, "call-1")], "Twelve.");
    const frames = await framesOf(
      client().runs.stream(threadId, "looks", { input: human("How much tea?"), streamMode: ["values", "tools"] as never }),
    );
    expect(frames.filter(({ event }) => event === "tools").map(({ data }) => data)).toEqual([
      { event: "on_tool_start", toolCallId: expect.any(String), name: "look_up", input: { item: "tea" } },
      { event: "on_tool_end", toolCallId: expect.any(String), name: "look_up", output: "12 left" },
    ]);
    const { messages } = (await client().threads.getState<StateValues>(threadId)).values;
    const [, asked, output] = messages as unknown as { tool_calls: { id: string }[]; tool_call_id: string }[];
    expect(messages).toMatchObject([
      { type: "human" },
      { type: "ai", tool_calls: [{ name: "look_up", args: { item: "tea" } }] },
      { type: "tool", name: "look_up", content: "12 left", status: "success" },
      { type: "ai", content: "Twelve." },
    ]);
    expect(output?.tool_call_id).toBe(asked?.tool_calls[0]?.id);
    expect(
      lastOf(frames)
        .messages.slice(1)
        .map(({ id, type }) => [id, type]),
    ).toEqual(messages.slice(1).map(({ id, type }) => [id, type]));
  });
});
