import { END, START, StateGraph } from "@langchain/langgraph";
import { instrumented, type Node } from "../nodes/node.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { ConversationState } from "../turn/state.ts";
import { TurnContext } from "../turn/context.ts";

/** Chooses the node that answers: the handler of the turn's knowledge base, else the general generator. */
export function chooseGenerator(hasHandler: (kbPrefix: string) => boolean) {
  return ({ kbPrefix, error }: Pick<ConversationState, "kbPrefix" | "error">): "generate_kb" | "generate_rag" =>
    error === null && hasHandler(kbPrefix) ? "generate_kb" : "generate_rag";
}

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

/** Builds the graph of a turn: route, history and core memory side by side, then retrieval, the answer and the store. */
export function buildGraph(
  { route, history, coreMemory, retrieve, generateRag, generateKb, hasHandler, persist }: Nodes,
  observer: Observer = NOOP_OBSERVER,
) {
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
    .addConditionalEdges("retrieve", chooseGenerator(hasHandler), ["generate_kb", "generate_rag"])
    .addEdge("generate_kb", "persist")
    .addEdge("generate_rag", "persist")
    .addEdge("persist", END)
    .compile({ name: "conversation" });
}

/** A compiled LangGraph graph over ConversationState; its nodes are route, history, core_memory, retrieve, generate_rag, generate_kb, persist. */
export type ConversationGraph = ReturnType<typeof buildGraph>;
