import { END, START, StateGraph } from "@langchain/langgraph";
import { instrumented, type Node } from "../nodes/node.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { ConversationState } from "../turn/state.ts";
import { TurnContext } from "../turn/context.ts";

/** The steps of a turn. */
export interface Nodes {
  route: Node;
  history: Node;
  coreMemory: Node;
  retrieve: Node;
  generateRag: Node;
  generateKb: Node;
  /** Whether the knowledge base has a handler of its own. */
  hasHandler: (kbPrefix: string) => boolean;
  persist: Node;
}

export function buildGraph(
  { route, history, coreMemory, retrieve, generateRag, generateKb, hasHandler, persist }: Nodes,
  observer: Observer = NOOP_OBSERVER,
) {
  const chooseGenerator = ({ kbPrefix, error }: ConversationState): "generate_kb" | "generate_rag" =>
    error === null && hasHandler(kbPrefix) ? "generate_kb" : "generate_rag";
  return new StateGraph(ConversationState, TurnContext)
    .addNode("route", instrumented("route", route, observer))
    .addNode("history", instrumented("history", history, observer))
    .addNode("core_memory", instrumented("core_memory", coreMemory, observer))
    .addNode("retrieve", instrumented("retrieve", retrieve, observer))
    .addNode("generate_rag", instrumented("generate_rag", generateRag, observer))
    .addNode("generate_kb", instrumented("generate_kb", generateKb, observer))
    .addNode("persist", instrumented("persist", persist, observer))
    .addEdge(START, "route")
    .addEdge(START, "history")
    .addEdge(START, "core_memory")
    .addEdge(["route", "history", "core_memory"], "retrieve")
    .addConditionalEdges("retrieve", chooseGenerator, ["generate_kb", "generate_rag"])
    .addEdge("generate_kb", "persist")
    .addEdge("generate_rag", "persist")
    .addEdge("persist", END)
    .compile({ name: "conversation" });
}

/** A compiled LangGraph graph over ConversationState. */
export type ConversationGraph = ReturnType<typeof buildGraph>;
