import { beforeEach, describe, expect, test } from "@jest/globals";
import { Command, GraphInterrupt } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { v7 as uuidv7 } from "uuid";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { human, langGraphClient, refusalOf, type StateValues, statusesOf } from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);
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

describe("interrupt_before and interrupt_after, by LangGraph's client", () => {
  test.each<[string, Stops, string[]]>([
    ["before every node", { interruptBefore: "*" }, ["model", "tea", "milk", "model"]],
    ["after every node", { interruptAfter: "*" }, ["model", "tea", "milk", "model"]],
    ["before the answer", { interruptBefore: ["generate_agent"] }, ["model"]],
    ["after what is retrieved", { interruptAfter: ["retrieve"] }, ["model"]],
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

  test("the assistant, which has no tools, is stepped through, too", async () => {
    askingClient(opened).follow("Hello.");
    expect(await stepThrough((await ofAda()).thread_id, { interruptBefore: "*" }, "assistant")).toEqual(["model", "Hello."]);
  });

  test("a run that has stopped shows where it stands, and takes a command", async () => {
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

  test("a question of the agent is not answered by going on", async () => {
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
    ["a node that only reads", { interruptBefore: ["route"] }, 422, "interrupt_before"],
    ["the node that stores", { interruptAfter: ["persist"] }, 422, "retrieve, model, tools"],
    ["a node that there is not", { interruptBefore: ["agent"] }, 422, "interrupt_before: no turn can wait before"],
    ["nobody who can be asked", { interruptBefore: "*", context: { interactive: false } }, 400, "interactive"],
    ["a thread that waits for nothing", { input: null }, 400, "input"],
  ])("%s is refused, and says where a turn can wait", async (_what, asked, status, says) => {
    const { thread_id } = await ofAda();
    const refused = await refusalOf(client().runs.wait(thread_id, "steps", { input: human("Order."), ...asked }));
    expect(refused).toMatchObject({ status, message: expect.stringContaining(says) as unknown });
  });
});
