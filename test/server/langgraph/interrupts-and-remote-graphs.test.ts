import { beforeEach, describe, expect, test } from "@jest/globals";
import { Annotation, Command, END, interrupt, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { HumanMessage } from "@langchain/core/messages";
import { v7 as uuidv7 } from "uuid";
import { listMessages } from "../../support/clients/api-client.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, lastOf, refusalOf, type StateValues } from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);
let asking: ReturnType<typeof askingClient>;
beforeEach(async () => {
  asking = askingClient(opened);
  ordered.length = 0;
  opened.model.answer({ tokens: ["Hi ", "there."] });
  await asking.makeAgent("asks");
});
const tea = callOf("order", { item: "tea" });
const ofAda = () => client().threads.create({ metadata: { user_id: "ada" } });

interface Asked {
  id: string;
  value: { type: string; tool: { name: string } };
}

describe("an agent's question as an interrupt of LangGraph", () => {
  test("is in the stream and in the state, and its answer goes on with the same run", async () => {
    asking.follow([tea], "Ordered.");
    const { thread_id } = await ofAda();
    const { runs, threads } = client();
    const asked = await framesOf(
      runs.stream(thread_id, "asks", { input: human("Order tea."), streamMode: ["values", "updates", "messages-tuple"] }),
    );
    const [question] = lastOf(asked).__interrupt__ as unknown as Asked[];
    expect(question?.value).toMatchObject({ type: "permission", tool: { name: "order" } });
    expect(asked.filter(({ event }) => event === "updates").at(-1)?.data).toEqual({ __interrupt__: [question] });
    const state = await threads.getState(thread_id);
    expect(state).toMatchObject({ next: ["generate_agent"], tasks: [{ name: "generate_agent", interrupts: [question] }] });
    expect(await threads.get(thread_id)).toMatchObject({ status: "interrupted", interrupts: { [state.tasks[0]?.id ?? ""]: [question] } });
    const interrupted = await threads.search({ status: "interrupted", metadata: { user_id: "ada" } });
    expect(interrupted.find((thread) => thread.thread_id === thread_id)?.interrupts).toEqual({ [state.tasks[0]?.id ?? ""]: [question] });

    const rest = await framesOf(
      runs.stream(thread_id, "asks", { command: { resume: "allow_once" }, streamMode: ["values", "updates", "messages-tuple"] }),
    );
    expect(rest[0]?.data).toEqual(asked[0]?.data);
    expect(lastOf(rest).messages.map(({ type, content }) => [type, content])).toEqual([
      ["human", "Order tea."],
      ["ai", ""],
      ["tool", "ordered tea"],
      ["ai", "Ordered."],
    ]);
    expect(ordered).toHaveLength(1);
    expect(await threads.getState(thread_id)).toMatchObject({
      next: [],
      tasks: [],
      values: { messages: lastOf(rest).messages.map(({ id }) => ({ id })) },
    });
    expect(await refusalOf(runs.wait(thread_id, "asks", { command: { resume: "deny" } }))).toMatchObject({ status: 400 });
  });

  test.each<[string, (id: string) => unknown]>([
    ["a boolean", () => true],
    ["the form of our own API", () => ({ answer: "allow_once" })],
    ["a map by the id of the interrupt", (id) => ({ [id]: "allow_once" })],
  ])("is answered by %s", async (_form, resume) => {
    asking.follow([tea], "Ordered.");
    const { thread_id } = await ofAda();
    const asked = (await client().runs.wait(thread_id, "asks", { input: human("Order tea.") })) as unknown as StateValues;
    const id = asked.__interrupt__?.[0]?.id ?? "";
    const done = (await client().runs.wait(thread_id, "asks", { command: { resume: resume(id) } })) as unknown as StateValues;
    expect(done.messages.at(-1)?.content).toBe("Ordered.");
  });

  test("is given up when the thread gets another input, as in LangGraph", async () => {
    asking.follow([tea], "Ordered.");
    const { thread_id } = await ofAda();
    await client().runs.wait(thread_id, "asks", { input: human("Order tea.") });
    opened.model.answer({ tokens: ["Never mind."] });
    const next = (await client().runs.wait(thread_id, "assistant", { input: human("Forget it.") })) as unknown as StateValues;
    expect(next.messages.at(-1)?.content).toBe("Never mind.");
    expect(ordered).toEqual([]);
  });
});

describe("a RemoteGraph of npm", () => {
  const remote = (graphId = "conversation") => new RemoteGraph({ graphId, url: `${opened.url}/langgraph`, apiKey: "none" });

  test("is called by a node of another graph, and remembers", async () => {
    const thread_id = uuidv7();
    const outer = new StateGraph(MessagesAnnotation)
      .addNode("remembers", async (state) => {
        const { messages } = (await remote().invoke(state, { configurable: { thread_id, user_id: "ada" } })) as StateValues;
        return { messages: messages.slice(-1) };
      })
      .addEdge(START, "remembers")
      .addEdge("remembers", END)
      .compile();
    const first = await outer.invoke({ messages: [new HumanMessage("My boat is Argo.")] });
    expect(first.messages.at(-1)?.content).toBe("Hi there.");
    await outer.invoke({ messages: [new HumanMessage("What is my boat called?")] });
    expect(
      opened.model.seen
        .at(-1)
        ?.body.messages.map(({ content }) => content)
        .join("\n"),
    ).toContain("My boat is Argo.");
    expect(await listMessages(opened.url, thread_id)).toHaveLength(4);
  });

  test("can be a node itself, streams through the other graph, and shows its state, history and drawing", async () => {
    const thread_id = uuidv7();
    const graph = remote();
    const outer = new StateGraph(MessagesAnnotation)
      .addNode("remembers", graph)
      .addEdge(START, "remembers")
      .addEdge("remembers", END)
      .compile();
    const config = { configurable: { thread_id, user_id: "ada" } };
    const modes: string[] = [];
    for await (const [, mode] of await outer.stream(human("Hello"), { ...config, streamMode: ["messages", "values"], subgraphs: true }))
      modes.push(mode);
    expect(modes).toEqual(expect.arrayContaining(["messages", "values"]));
    const state = await graph.getState(config);
    expect((state.values as StateValues).messages.at(-1)?.content).toBe("Hi there.");
    const history = [];
    for await (const one of graph.getStateHistory(config)) history.push(one);
    expect(history).toHaveLength(1);
    expect(Object.keys((await graph.getGraphAsync()).nodes)).toContain("persist");
  });

  test("interrupts the graph around it, and goes on with the answer given there", async () => {
    asking.follow([tea], "Ordered.");
    const thread_id = uuidv7();
    const graph = remote("asks");
    const config = { configurable: { thread_id, user_id: "ada" } };
    const State = Annotation.Root({ asked: Annotation<string>, answer: Annotation<string> });
    const outer = new StateGraph(State)
      .addNode("orders", async ({ asked }) => {
        const open = await graph.getState(config).catch(() => null);
        const [waits] = open?.tasks.flatMap(({ interrupts }) => interrupts) ?? [];
        const answer: unknown = waits && interrupt(waits.value);
        const input = waits ? new Command({ resume: answer }) : human(asked);
        const { messages } = (await graph.invoke(input, config)) as StateValues;
        return { answer: messages.at(-1)?.content };
      })
      .addEdge(START, "orders")
      .addEdge("orders", END)
      .compile({ checkpointer: new MemorySaver() });
    const around = { configurable: { thread_id: "outer" } };
    const asked = (await outer.invoke({ asked: "Order tea." }, around)) as { __interrupt__?: { value: { type: string } }[] };
    expect(asked.__interrupt__?.[0]?.value).toMatchObject({ type: "permission" });
    expect(await outer.invoke(new Command({ resume: "allow_once" }), around)).toMatchObject({ answer: "Ordered." });
    expect(ordered).toHaveLength(1);
  });
});
