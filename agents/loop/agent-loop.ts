import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { END, ReducedValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { firstChoice, type ModelChoice } from "../../models/model-choice.ts";
import type { ModelAnswer } from "../../models/stream-answer.ts";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import { askModel, type ModelCall } from "../../prompt/ask-model.ts";
import type { FittingPrompt } from "../../prompt/ask-model.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import type { Agent, AgentLimits } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import { millisecondsSince } from "../../turn/events.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import type { Picture } from "../../turn/picture.ts";
import type { Question } from "../../turn/question.ts";
import { type AgentTurn, isStoppedBefore, noteAnswer } from "../agent-turn.ts";
import { askQuestion } from "../questions/ask.ts";
import { stepQuestion } from "../questions/questions.ts";
import { type AgentTool, offeredTool } from "../tool.ts";
import { fitLoop, makeShowPictures, toolTokens } from "./fit-loop.ts";
import { makeRunCalls, type RunCalls } from "./run-calls.ts";

/** An agent, with the tools that it may call and the models that may answer, first the one that is asked. */
interface EquippedAgent {
  agent: Agent;
  tools: readonly AgentTool[];
  choices: readonly ModelChoice[];
}

/** An agent that runs in a turn. `elapsedMs`: how long it has run, without waiting. */
export interface RunningAgent extends EquippedAgent {
  turn: AgentTurn;
  calls: RunCalls;
  elapsedMs: () => number;
}

/** `startedAt`: by the clock of `performance.now()`, as if it had not waited since. */
export function startAgent(turn: AgentTurn, equipped: EquippedAgent, startedAt = performance.now()): RunningAgent {
  const elapsedMs = (): number => performance.now() - startedAt;
  return { ...equipped, turn, calls: makeRunCalls(turn, equipped.agent, equipped.tools, elapsedMs), elapsedMs };
}

/** Where a loop goes on after a question. */
export interface LoopSoFar {
  rounds: number;
  toolCalls: number;
  end: string | null;
  /** A stepping turn's model may be asked once without another question. */
  mayStep: boolean;
}

export interface AgentTask {
  /** Makes what stands before the loop for so many tokens, tools included. */
  prompt: (tokenBudget: number) => Promise<BaseMessage[]>;
  /** The message has pictures. Default false. */
  mustSee?: boolean;
  soFar?: LoopSoFar;
  answerId?: string;
  modelOptions?: ModelOptions | undefined;
  onToken: (token: string) => void;
}

/** What the loop's nodes work with. `start`: what stands before the loop. */
interface Loop extends RunningAgent {
  task: AgentTask;
  start: readonly BaseMessage[];
  showPictures: (pictures: readonly Picture[]) => BaseMessage[];
}

const AgentLoopState = new StateSchema({
  messages: new ReducedValue(
    z.array(z.custom<BaseMessage>()).default(() => []), // caller: the prompt; tools: calls and results
    { reducer: (earlier: BaseMessage[], later: BaseMessage[]) => [...earlier, ...later] },
  ),
  answer: z.custom<ModelAnswer>(), // model: its last answer
  rounds: z.number().default(0), // model: how often it was asked; caller: before the question
  toolCalls: z.number().default(0), // tools, caller
  question: z.custom<Question>().nullable().default(null), // model, tools: what the turn waits for
  end: z.string().nullable().default(null), // tools, caller: why no more tools are called, besides limits
  isLast: z.boolean().default(false), // model: a limit was reached, so it was asked without tools
  mayStep: z.boolean().default(false), // caller: the model needs no question before it; model: it was asked
});
type AgentLoopState = typeof AgentLoopState.State;
type AgentLoopUpdate = Promise<Partial<AgentLoopState>>;

const AgentLoopContext = z.object({ loop: z.custom<Loop>() });
interface AgentLoopRuntime {
  context?: z.infer<typeof AgentLoopContext> | undefined;
}

function loopOf({ context }: AgentLoopRuntime): Loop {
  if (!context) throw new Error("the loop of an agent runs within a turn");
  return context.loop;
}

/** The limit that ends the loop, in words, or null. */
function reachedLimit({ rounds, toolCalls }: AgentLoopState, { agent: { limits }, elapsedMs }: Loop): string | null {
  if (toolCalls >= limits.max_tool_calls) return `${limits.max_tool_calls} calls of tools`;
  if (elapsedMs() >= limits.timeout_s * 1_000) return `${limits.timeout_s} seconds`;
  if (rounds + 1 >= limits.max_steps) return `${limits.max_steps} steps`;
  return null;
}

function tellLimit({ turn, agent }: Loop, reached: string): void {
  const message = `The agent "${agent.name}" has reached its limit of ${reached}. It answers from what there is.`;
  emit(turn.runtime, { status: "notice", content: { code: "agent_limit", message } });
}

const answerNow = (why: string): BaseMessage =>
  new HumanMessage(`${why}: no more tools can be called. Answer now from what there is, and say what is missing.`);

/** An answer's step; `output`: the model's words before its calls. */
export function modelStep({ progress }: AgentTurn, agent: Agent, answer: ModelAnswer, output?: string): NewStep {
  const about = { seq: progress.steps + 1, agent: agent.name, kind: "model" as const, name: [...progress.models].at(-1) ?? "" };
  return {
    ...about,
    output,
    echo: answer.echo,
    tokens: answer.usage?.output_tokens ?? estimateTokens(answer.text),
    ms: millisecondsSince(progress.askedAt),
  };
}

type CallInLoop = Omit<ModelCall<FittingPrompt>, "choices" | "mustSee" | "modelOptions" | "messageId">;

/** Asks the model of an agent, and counts what its answer took. A failure of the model is in the answer. */
export async function askForAgent({ turn, choices }: RunningAgent, task: AgentTask, call: CallInLoop): Promise<ModelAnswer> {
  const { mustSee = false, modelOptions, answerId: messageId } = task;
  turn.progress.askedAt = performance.now();
  const asked = await askModel(turn, { ...call, choices, mustSee, modelOptions, messageId });
  noteAnswer(turn.progress, asked);
  return asked.answer;
}

/** Asks the model, without tools for its last answer. A model's failure is in the answer. */
async function model(state: AgentLoopState, runtime: AgentLoopRuntime): AgentLoopUpdate {
  const loop = loopOf(runtime);
  const { turn, agent, tools, start, task, elapsedMs } = loop;
  if (!state.mayStep && isStoppedBefore(turn, state.rounds === 0 ? "first_model" : "next_model")) {
    const asking = { question: stepQuestion(agent.name, null), about: "step" as const, pending: [], end: state.end };
    return { question: await askQuestion(turn, agent, { ...asking, elapsedMs: elapsedMs() }) };
  }
  const limit = reachedLimit(state, loop);
  const isBehindCalls = state.rounds > 0;
  if (limit !== null && isBehindCalls && state.end === null) tellLimit(loop, limit);
  const why = state.end ?? (limit !== null && isBehindCalls ? `The limit of ${limit} is reached` : null);
  const isLast = limit !== null || state.end !== null;
  const offered = isLast ? [] : tools;
  const schemas = toolTokens(offered);
  const behind = [...state.messages.slice(start.length), ...(why === null ? [] : [answerNow(why)])];
  const answer = await askForAgent(loop, task, {
    assemble: (budget) => fitLoop({ start, again: task.prompt, behind }, budget, schemas),
    toolTokens: schemas,
    tools: isLast ? undefined : offered.map(offeredTool),
    strategy: behind.length > 0 ? "prune" : "truncate",
    onToken: task.onToken,
  });
  return { answer, rounds: state.rounds + 1, isLast, mayStep: false };
}

/** Stores and runs the calls of an answer. With a question the turn waits, and some calls have no result yet. Throws AppError. */
async function tools({ answer, toolCalls }: AgentLoopState, runtime: AgentLoopRuntime): AgentLoopUpdate {
  const { turn, agent, calls, showPictures } = loopOf(runtime);
  const { progress } = turn;
  const thought = modelStep(turn, agent, answer, answer.text);
  const asked = answer.toolCalls.map((call, index) => ({ ...call, seq: thought.seq + index + 1 }));
  progress.steps += asked.length + 1; // before it is stored: a subagent beside this one takes the next numbers
  progress.called.push(...asked.map(({ name }) => name));
  const { results, pictures, question, end } = await calls.ofAnswer(asked, thought, agent.limits.max_tool_calls - toolCalls);
  const shown = asked.map((call) => ({ ...call, arguments: shownArguments(call) }));
  const said = assistantMessage({ text: answer.text, calls: shown, echo: answer.echo ?? null });
  return { messages: [said, ...results, ...showPictures(pictures)], question, end, toolCalls: toolCalls + asked.length };
}

const hasCalls = ({ question, answer, isLast }: AgentLoopState): "tools" | typeof END =>
  question === null && answer.error === null && answer.toolCalls.length > 0 && !isLast ? "tools" : END;

const isWaiting = ({ question }: AgentLoopState): "model" | typeof END => (question === null ? "model" : END);

/** `model ⇄ tools`, until the model answers without a call, a limit is reached, it goes round in circles, or somebody has to be asked. */
export const agentLoop = new StateGraph(AgentLoopState, AgentLoopContext)
  .addNode("model", model)
  .addNode("tools", tools)
  .addEdge(START, "model")
  .addConditionalEdges("model", hasCalls, ["tools", END])
  .addConditionalEdges("tools", isWaiting, ["model", END])
  .compile({ name: "agent", checkpointer: false }); // steps are stored before they run

/** The most supersteps of LangGraph with these limits. */
const recursionLimit = ({ max_steps }: AgentLimits): number => 2 * max_steps + 2;

/**
 * Runs an agent's loop after a prompt, to its answer or a question. The answer may have an error. Throws AppError, or the signal's reason.
 */
export async function runAgent(running: RunningAgent, task: AgentTask): Promise<{ answer: ModelAnswer; question: Question | null }> {
  const { turn, agent, choices } = running;
  const { name } = firstChoice(choices);
  const start = await task.prompt(turn.limits.of(name));
  const loop: Loop = { ...running, task, start, showPictures: makeShowPictures({ sight: turn.sight, model: name }) };
  const options = { context: { loop }, recursionLimit: recursionLimit(agent.limits), callbacks: [] };
  const { answer, question } = await agentLoop.invoke({ messages: start, ...task.soFar }, options);
  return { answer, question };
}
