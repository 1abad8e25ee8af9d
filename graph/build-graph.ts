import { END, START, StateGraph } from "@langchain/langgraph";
import { measured, type Node } from "../nodes/measured.ts";
import { NOBODY, type Observer } from "../observe/observer.ts";
import { chooseGenerator } from "./choose-generator.ts";
import { ConversationState } from "./state.ts";
import { TurnContext } from "./turn-context.ts";

/** The steps of a turn. */
export interface Nodes {
  route: Node;
  history: Node;
  coreMemory: Node;
  retrieve: Node;
  generateRag: Node;
  generateKb: Node;
  /** Names of knowledge bases that have a handler of their own. */
  hasHandler: (kbPrefix: string) => boolean;
  persist: Node;
}

/** The picture of a turn: route, history and core memory side by side, then what they call for from memory, then the answer, then the store. */
export function buildGraph(
  { route, history, coreMemory, retrieve, generateRag, generateKb, hasHandler, persist }: Nodes,
  observer: Observer = NOBODY,
) {
  return new StateGraph(ConversationState, TurnContext)
    .addNode("route", measured("route", route, observer))
    .addNode("history", measured("history", history, observer))
    .addNode("core_memory", measured("core_memory", coreMemory, observer))
    .addNode("retrieve", measured("retrieve", retrieve, observer))
    .addNode("generate_rag", measured("generate_rag", generateRag, observer))
    .addNode("generate_kb", measured("generate_kb", generateKb, observer))
    .addNode("persist", measured("persist", persist, observer))
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
