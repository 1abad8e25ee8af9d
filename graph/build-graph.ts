import { END, START, StateGraph } from "@langchain/langgraph";
import { agentLoop } from "../agents/loop/agent-loop.ts";
import { type Node, TurnContext, type TurnRuntime, emit } from "../turn/context.ts";
import { looksOnly, ConversationState, type ConversationUpdate } from "../turn/state.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import { hasTools } from "../turn/agent.ts";
import { millisecondsSince } from "../turn/events.ts";

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
  if (agent && (hasTools(agent) || isStepping || state.agentPath.length > 1)) return "generate_agent";
  const isAnswerable = state.error === null && (state.retrievalResults.length > 0 || !looksOnly(state));
  // A handler answers freely: it knows no form, and calls no tools.
  const isAsked = (state.modelOptions?.response_format ?? null) === null && !callerTools?.mustCall;
  if (!agent && isAnswerable && isAsked && hasHandler(state.kbPrefix)) return "generate_kb";
  return callerTools || isStepping ? "generate_agent" : "generate";
}

/** A turn that waits, or that another process goes on with, has stored what it needs for that, and nothing of its end. */
const hasEnded = ({ question, isLetGo }: ConversationState): "persist" | typeof END => (question || isLetGo ? END : "persist");

function noteInto(notes: Record<string, unknown>, { context, writer, callbacks }: TurnRuntime): TurnRuntime {
  return { context, writer, callbacks, note: (facts) => void Object.assign(notes, facts) };
}

/** Adds to a node its milliseconds in `timings` and, in debug, its facts in the execution log. */
function instrumented(name: string, node: Node, observer: Observer): Node {
  return async function measuredNode(state, runtime) {
    runtime.context?.onNodeStart?.(name);
    const began = performance.now();
    const notes: Record<string, unknown> = {};
    const update = await observer.watch({ work: "node", name }, async (learn) => {
      const updated = await node(state, state.debug ? noteInto(notes, runtime) : runtime);
      const { error } = updated as Pick<ConversationState, "error">;
      if (error) learn({ outcome: error.code });
      return updated;
    });
    const ms = millisecondsSince(began);
    const timed: ConversationUpdate = { ...update, timings: { [name]: ms } };
    if (!state.debug) return timed;
    const log = { ...notes, node: name, ms, wrote: Object.keys(update) };
    emit(runtime, { status: "execution_log", content: log });
    return { ...timed, executionLogs: [log] };
  };
}

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
    .addConditionalEdges("generate_agent", hasEnded, ["persist", END])
    .addEdge("generate_kb", "persist")
    .addEdge("generate", "persist")
    .addEdge("persist", END)
    .compile({ name: "conversation" });
}

/** A compiled LangGraph graph over ConversationState. */
export type ConversationGraph = ReturnType<typeof buildGraph>;
