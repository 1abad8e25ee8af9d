import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { END, ReducedValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import type { AgentLimits } from "../../turn/agent.ts";
import type { Question } from "../../turn/question.ts";

/** What the loop of one turn does, made by generate_agent. */
export interface AgentRun {
  limits: AgentLimits;
  /** Milliseconds since the turn began to think. */
  elapsedMs: () => number;
  /** Asks the model. Never throws: a failure is in the answer. */
  ask(messages: readonly BaseMessage[], options: { withTools: boolean }): Promise<ModelAnswer>;
  /**
   * Stores the calls of an answer and runs them; the message of the model, and one of each tool. With a question the turn has to wait, and
   * some have no result yet. `end`: why no more tools are called. Throws AppError.
   */
  call(answer: ModelAnswer): Promise<{ messages: BaseMessage[]; question: Question | null; end: string | null }>;
  /** Of a turn that is stepped through: the question before the model is asked. `end`: why no more tools are called. */
  beforeModel(state: { end: string | null; rounds: number }): Promise<Question | null>;
  /** Tells that a limit was reached. */
  tellLimit(reached: string): void;
}

const AgentLoopState = new StateSchema({
  messages: new ReducedValue(
    z.array(z.custom<BaseMessage>()).default(() => []), // caller: the prompt; tools: calls and results behind it
    { reducer: (earlier: BaseMessage[], later: BaseMessage[]) => [...earlier, ...later] },
  ),
  answer: z.custom<ModelAnswer>(), // model: its last answer
  rounds: z.number().default(0), // model: how often it was asked; caller: before the question after which the turn goes on
  toolCalls: z.number().default(0), // tools, caller
  question: z.custom<Question>().nullable().default(null), // model, tools: what the turn has to wait for
  end: z.string().nullable().default(null), // tools, caller: why no more tools are called, besides limits
  isLast: z.boolean().default(false), // model: it was asked without tools, as a limit was reached
});
type AgentLoopState = typeof AgentLoopState.State;

const AgentLoopContext = z.object({ run: z.custom<AgentRun>() });
interface AgentLoopRuntime {
  context?: z.infer<typeof AgentLoopContext> | undefined;
}

function runOf({ context }: AgentLoopRuntime): AgentRun {
  if (!context) throw new Error("the loop of an agent runs within a turn");
  return context.run;
}

/** The limit that ends the loop, in words; null when there is none yet. */
function reachedLimit({ rounds, toolCalls }: AgentLoopState, { limits, elapsedMs }: AgentRun): string | null {
  if (toolCalls >= limits.max_tool_calls) return `${limits.max_tool_calls} calls of tools`;
  if (elapsedMs() >= limits.timeout_s * 1_000) return `${limits.timeout_s} seconds`;
  if (rounds + 1 >= limits.max_steps) return `${limits.max_steps} steps`;
  return null;
}

const answerNow = (why: string): BaseMessage =>
  new HumanMessage(`${why}: no more tools can be called. Answer now from what there is, and say what is missing.`);

async function model(state: AgentLoopState, runtime: AgentLoopRuntime) {
  const run = runOf(runtime);
  const question = await run.beforeModel(state);
  if (question) return { question };
  const limit = reachedLimit(state, run);
  const isBehindCalls = state.rounds > 0;
  if (limit !== null && isBehindCalls && state.end === null) run.tellLimit(limit);
  const why = state.end ?? (limit !== null && isBehindCalls ? `The limit of ${limit} is reached` : null);
  const messages = why === null ? state.messages : [...state.messages, answerNow(why)];
  const isLast = limit !== null || state.end !== null;
  const answer = await run.ask(messages, { withTools: !isLast });
  return { answer, rounds: state.rounds + 1, isLast };
}

async function tools(state: AgentLoopState, runtime: AgentLoopRuntime) {
  const { messages, question, end } = await runOf(runtime).call(state.answer);
  return { messages, question, end, toolCalls: state.toolCalls + state.answer.toolCalls.length };
}

const hasCalls = ({ question, answer, isLast }: AgentLoopState): "tools" | typeof END =>
  question === null && answer.error === null && answer.toolCalls.length > 0 && !isLast ? "tools" : END;

const isWaiting = ({ question }: AgentLoopState): "model" | typeof END => (question === null ? "model" : END);

/** `model ⇄ tools`, until the model answers without a call, a limit of the agent is reached, it goes round in circles, or somebody has to be asked. */
export const agentLoop = new StateGraph(AgentLoopState, AgentLoopContext)
  .addNode("model", model)
  .addNode("tools", tools)
  .addEdge(START, "model")
  .addConditionalEdges("model", hasCalls, ["tools", END])
  .addConditionalEdges("tools", isWaiting, ["model", END])
  .compile({ name: "agent", checkpointer: false }); // steps are stored before they run

/** Supersteps of LangGraph that a run with these limits takes at most. */
export const recursionLimit = ({ max_steps }: AgentLimits): number => 2 * max_steps + 2;
