import { MemorySaver } from "@langchain/langgraph";
import { graph } from "../../../server/studio.ts";

// What LangGraph's server does with the module of a graph, in a process of its own: it says on its output what it has seen, and waits for a
// signal.
const input = { messages: [{ type: "human", content: "My boat is called Calypso." }] };
const thread = { configurable: { thread_id: "a-thread" } };

const kept = await graph();
kept.checkpointer = new MemorySaver();
const loadedAnew = (await import(`${new URL("../../../server/studio.ts", import.meta.url).href}?anew`)) as { graph: typeof graph };
// Another request, of a run that keeps no state, begins before the first one runs.
const besides = await loadedAnew.graph();
Object.assign(besides, { checkpointer: undefined });
await kept.invoke(input, thread);
const second = await besides.invoke(
  { message: "What is my boat called?", sessionId: "a-thread" },
  { configurable: { thread_id: "other" } },
);
const values = (await kept.getState(thread)).values as Partial<typeof second>;
process.stdout.write(`${JSON.stringify({ kept: values.messages?.length, answer: second.answer })}\n`);
setInterval(() => undefined, 1_000);
