import { beforeEach, describe, expect, test } from "@jest/globals";
import { getBranchContext, getMessagesMetadataMap } from "@langchain/langgraph-sdk/ui";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, lastOf, type StateValues, refusalOf, statusesOf } from "./langgraph-client.ts";
import { Command, GraphInterrupt } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { v7 as uuidv7 } from "uuid";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);

describe("in LangGraph's protocol,", () => {
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
  describe("a thread's history, as useStream reads it,", () => {
    test("shows the newest answer first, and the earlier answer when its branch is chosen", async () => {
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

    test("shows the edited question first, and the earlier question with all after it when its branch is chosen", async () => {
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

    test("has each state once, page by page, when only the newest path has branches", async () => {
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
  describe("what an agent did", () => {
    test('is shown as calls and outputs in the stream, in the mode "tools" and in the state', async () => {
      const asking = askingClient(opened);
      await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
      asking.follow([callOf("look_up", { item: "tea" }, "call-1")], "Twelve.");
      const frames = await framesOf(
        client().runs.stream(threadId, "looks", { input: human("How much tea?"), streamMode: ["values", "tools"] as never }),
      );
      const by = { agent: "looks", path: ["looks"] };
      expect(frames.filter(({ event }) => event === "tools").map(({ data }) => data)).toEqual([
        { event: "on_tool_start", toolCallId: expect.any(String), name: "look_up", input: { item: "tea" }, ...by },
        { event: "on_tool_end", toolCallId: expect.any(String), name: "look_up", output: "12 left", ...by },
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
});

describe("in LangGraph's protocol,", () => {
  const ofAda = () => client().threads.create({ metadata: { user_id: "ada" } });
  const tea = callOf("order", { item: "tea" }, "t");
  const milk = callOf("order", { item: "milk" }, "m");
  beforeEach(async () => {
    const asking = askingClient(opened);
    ordered.length = 0;
    await asking.makeAgent("steps", { permissions: [{ tool: "order", action: "allow" }] });
    asking.follow([tea, milk], "Ordered.");
  });
  type Nodes = string[] | "*";
  interface Stops {
    interruptBefore?: Nodes;
    interruptAfter?: Nodes;
  }
  interface Step {
    question: string;
    tool?: { arguments: { item: string } };
  }
  /** What a run waits for: the model, or the item of a call; null: it is over. */
  function waitsFor({ __interrupt__: asked }: StateValues): string | null {
    const step = asked?.[0]?.value as unknown as Step | undefined;
    return step ? (step.tool?.arguments.item ?? "model") : null;
  }
  /** All that a run waits for until its end; it goes on with nothing but its thread. */
  async function stepThrough(threadId: string, stops: Stops, assistant = "steps"): Promise<string[]> {
    const seen: string[] = [];
    const wait = async (asked: object) => (await client().runs.wait(threadId, assistant, asked)) as unknown as StateValues;
    for (let values = await wait({ input: human("Order."), ...stops }); ; values = await wait({ input: null })) {
      const next = waitsFor(values);
      if (next === null) return [...seen, values.messages.at(-1)?.content ?? ""];
      seen.push(next);
    }
  }
  describe("with interrupt_before and interrupt_after,", () => {
    test.each<[string, Stops, string[]]>([
      ["before every node", { interruptBefore: "*" }, ["model", "tea", "milk", "model"]],
      ["after every node", { interruptAfter: "*" }, ["model", "tea", "milk", "model"]],
      ["before the answer", { interruptBefore: ["generate_agent"] }, ["model"]],
      ['after "retrieve"', { interruptAfter: ["retrieve"] }, ["model"]],
      ["before the model", { interruptBefore: ["model"] }, ["model", "model"]],
      ["after the model, with its full name", { interruptAfter: ["generate_agent:model"] }, ["tea", "milk"]],
      ["before the tools", { interruptBefore: ["tools"] }, ["tea", "milk"]],
      ["after the tools", { interruptAfter: ["tools"] }, ["model"]],
      ["before the model and after it", { interruptBefore: ["generate_rag"], interruptAfter: ["model"] }, ["model", "tea", "milk"]],
      ["nowhere", { interruptBefore: [], interruptAfter: [] }, []],
    ])("a run stops %s, and goes on without input", async (_where, stops, expected) => {
      const { thread_id } = await ofAda();
      expect(await stepThrough(thread_id, stops)).toEqual([...expected, "Ordered."]);
      expect(ordered).toHaveLength(2);
      expect(statusesOf(await client().runs.list(thread_id))).toEqual(["success"]);
    });

    test("the assistant, which has no tools, stops before its model, too", async () => {
      askingClient(opened).follow("Hello.");
      expect(await stepThrough((await ofAda()).thread_id, { interruptBefore: "*" }, "assistant")).toEqual(["model", "Hello."]);
    });

    test("a stopped run shows where it is, and goes on with a command", async () => {
      const { thread_id } = await ofAda();
      const { runs, threads } = client();
      await runs.wait(thread_id, "steps", { input: human("Order."), interruptBefore: ["tools"] });
      const state = await threads.getState(thread_id);
      expect(state).toMatchObject({ next: ["generate_agent"], tasks: [{ interrupts: [{ value: { tool: { name: "order" } } }] }] });
      expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted" });
      const done = (await runs.wait(thread_id, "steps", { command: { resume: "run" } })) as unknown as StateValues;
      expect([waitsFor(done), done.messages.at(-1)?.content]).toEqual([null, "Ordered."]);
    });

    test("a RemoteGraph goes on with null, and with a command", async () => {
      const graph = new RemoteGraph({ graphId: "steps", url: `${opened.url}/langgraph`, apiKey: "none" });
      const config = { configurable: { thread_id: uuidv7(), user_id: "ada" } };
      const stopped = (run: Promise<unknown>) => expect(run).rejects.toThrow(GraphInterrupt); // what it throws for any interrupt
      await stopped(graph.invoke(human("Order."), { ...config, interruptBefore: ["model"] }));
      expect((await graph.getState(config)).next).toEqual(["generate_agent"]);
      await stopped(graph.invoke(null, config));
      const { messages } = (await graph.invoke(new Command({ resume: "step" }), config)) as StateValues;
      expect(messages.at(-1)?.content).toBe("Ordered.");
    });

    test("going on without input does not answer a question of the agent", async () => {
      await askingClient(opened).makeAgent("asks");
      const { thread_id } = await ofAda();
      await client().runs.wait(thread_id, "asks", { input: human("Order.") });
      expect(await refusalOf(client().runs.wait(thread_id, "asks", { input: null }))).toMatchObject({
        status: 400,
        message: expect.stringContaining("command.resume") as unknown,
      });
      expect(ordered).toEqual([]);
    });

    test.each<[string, object, number, string]>([
      ["a stop at a node that only reads", { interruptBefore: ["route"] }, 422, "interrupt_before"],
      ["a stop at the node that stores", { interruptAfter: ["persist"] }, 422, "retrieve, model, tools"],
      ["a stop at a node that does not exist", { interruptBefore: ["agent"] }, 422, "interrupt_before: no turn can wait before"],
      ["stops although nobody can be asked", { interruptBefore: "*", context: { interactive: false } }, 400, "interactive"],
      ["no input on a thread that waits for nothing", { input: null }, 400, "input"],
    ])("a run with %s is refused", async (_what, asked, status, says) => {
      const { thread_id } = await ofAda();
      const refused = await refusalOf(client().runs.wait(thread_id, "steps", { input: human("Order."), ...asked }));
      expect(refused).toMatchObject({ status, message: expect.stringContaining(says) as unknown });
    });
  });
});
