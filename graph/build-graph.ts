import { END, START, StateGraph } from "@langchain/langgraph";
import { agentLoop } from "../agents/loop/agent-loop.ts";
import { instrumented, type Node } from "../nodes/node.ts";
import { looksOnly } from "../turn/route-decision.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { hasTools } from "../turn/agent.ts";
import { TurnContext, type TurnRuntime } from "../turn/context.ts";
import { ConversationState } from "../turn/state.ts";

/** The steps of a turn. */
export interface Nodes {
  route: Node;
  history: Node;
  coreMemory: Node;
  retrieve: Node;
  generate: Node;
  generateKb: Node;
  generateAgent: Node;
  hasHandler: (kbPrefix: string) => boolean;
  persist: Node;
}

/** The node that answers. */
export function chooseGenerator(
  state: ConversationState,
  hasHandler: (kbPrefix: string) => boolean,
): "generate_agent" | "generate_kb" | "generate" {
  const { agent, callerTools } = state;
  const isStepping = state.execution === "stepping";
  if (state.callResults) return "generate_agent"; // only agents' prompts have a turn's steps
  if (state.continued) return "generate"; // neither an agent nor a handler can go on with an answer
  if (agent && (hasTools(agent) || isStepping)) return "generate_agent";
  const isAnswerable = state.error === null && (state.retrievalResults.length > 0 || !looksOnly(state));
  // A handler answers freely: it knows no form, and calls no tools.
  const isAsked = (state.modelOptions?.response_format ?? null) === null && !callerTools?.mustCall;
  if (!agent && isAnswerable && isAsked && hasHandler(state.kbPrefix)) return "generate_kb";
  return callerTools || isStepping ? "generate_agent" : "generate";
}

/** A waiting turn has stored its question, and nothing of its end. */
const isWaiting = ({ question }: ConversationState): "persist" | typeof END => (question ? END : "persist");

export function buildGraph(nodes: Nodes, observer: Observer = NOOP_OBSERVER) {
  const { route, history, coreMemory, retrieve, generate, generateKb, generateAgent, hasHandler, persist } = nodes;
  return new StateGraph(ConversationState, TurnContext)
    .addNode("route", instrumented("route", route, observer))
    .addNode("history", instrumented("history", history, observer))
    .addNode("core_memory", instrumented("core_memory", coreMemory, observer))
    .addNode("retrieve", instrumented("retrieve", retrieve, observer))
    .addNode("generate", instrumented("generate", generate, observer))
    .addNode("generate_kb", instrumented("generate_kb", generateKb, observer))
    .addNode("generate_agent", instrumented("generate_agent", generateAgent, observer), { subgraphs: [agentLoop] })
    .addNode("persist", instrumented("persist", persist, observer))
    .addEdge(START, "route")
    .addEdge(START, "history")
    .addEdge(START, "core_memory")
    .addEdge(["route", "history", "core_memory"], "retrieve")
    .addConditionalEdges(
      "retrieve",
      // Only an agent has waited; other prompts lack its steps.
      (state, { context }: TurnRuntime) => (context?.resumed ? "generate_agent" : chooseGenerator(state, hasHandler)),
      ["generate_agent", "generate_kb", "generate"],
    )
    .addConditionalEdges("generate_agent", isWaiting, ["persist", END])
    .addEdge("generate_kb", "persist")
    .addEdge("generate", "persist")
    .addEdge("persist", END)
    .compile({ name: "conversation" });
}

/** A compiled LangGraph graph over ConversationState. */
export type ConversationGraph = ReturnType<typeof buildGraph>;
