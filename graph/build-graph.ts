import { END, START, StateGraph } from "@langchain/langgraph";
import { measured, type Node } from "../nodes/measured.ts";
import { ConversationState } from "./state.ts";
import { TurnContext } from "./turn-context.ts";

export interface Nodes {
  route: Node;
  history: Node;
  retrieve: Node;
  generateRag: Node;
  persist: Node;
}

/** The picture of a turn: route and history side by side, then what they call for from memory, then the answer, then the store. */
export function buildGraph({ route, history, retrieve, generateRag, persist }: Nodes) {
  return new StateGraph(ConversationState, TurnContext)
    .addNode("route", measured("route", route))
    .addNode("history", measured("history", history))
    .addNode("retrieve", measured("retrieve", retrieve))
    .addNode("generate_rag", measured("generate_rag", generateRag))
    .addNode("persist", measured("persist", persist))
    .addEdge(START, "route")
    .addEdge(START, "history")
    .addEdge(["route", "history"], "retrieve")
    .addEdge("retrieve", "generate_rag")
    .addEdge("generate_rag", "persist")
    .addEdge("persist", END)
    .compile({ name: "conversation" });
}

export type ConversationGraph = ReturnType<typeof buildGraph>;
