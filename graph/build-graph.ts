import { END, START, StateGraph } from "@langchain/langgraph";
import { measured, type Node } from "../nodes/measured.ts";
import { chooseGenerator } from "./choose-generator.ts";
import { ConversationState } from "./state.ts";
import { TurnContext } from "./turn-context.ts";

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
export function buildGraph({ route, history, coreMemory, retrieve, generateRag, generateKb, hasHandler, persist }: Nodes) {
  return new StateGraph(ConversationState, TurnContext)
    .addNode("route", measured("route", route))
    .addNode("history", measured("history", history))
    .addNode("core_memory", measured("core_memory", coreMemory))
    .addNode("retrieve", measured("retrieve", retrieve))
    .addNode("generate_rag", measured("generate_rag", generateRag))
    .addNode("generate_kb", measured("generate_kb", generateKb))
    .addNode("persist", measured("persist", persist))
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

export type ConversationGraph = ReturnType<typeof buildGraph>;
