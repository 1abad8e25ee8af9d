import { type AgentRun, type AgentTurn, noteAnswer, type RunAnswer } from "../agent-turn.ts";
import { isStoppedBefore } from "../questions/permissions.ts";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { END, ReducedValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
import { firstChoice, type ModelChoice } from "../../models/model-choice.ts";
import { assistantMessage } from "../../models/wire/assistant-message.ts";
import { askModel, type ModelCall } from "../../prompt/ask-model.ts";
import type { FittingPrompt } from "../../prompt/ask-model.ts";
import type { NewStep } from "../../stores/postgres/agents/step-store.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import { type Agent, givesTasks } from "../../turn/agent.ts";
import { emit } from "../../turn/context.ts";
import { type Handoff, millisecondsSince } from "../../turn/events.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import type { Picture } from "../../turn/picture.ts";
import type { PendingCall } from "../../turn/resumed-turn.ts";
import { toAskAbout } from "../questions/ask.ts";
import { stepQuestion } from "../questions/questions.ts";
import { type DoneTask, nextTasks } from "../team/strategy.ts";
import { type AgentTool, offeredTool, type ToAsk } from "../tool.ts";
import { fitLoop, makeShowPictures, toolTokens } from "./fit-loop.ts";
import { makeRunCalls, type RunCalls } from "./run-calls.ts";

/** An agent, with the tools that it may call and the models that may answer, first the one that is asked. */
interface EquippedAgent {
  agent: Agent;
  run: AgentRun;
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
export function startAgent(turn: AgentTurn, equipped: EquippedAgent, startedAt: number): RunningAgent {
  const elapsedMs = (): number => performance.now() - startedAt;
  return { ...equipped, turn, calls: makeRunCalls(turn, equipped, elapsedMs), elapsedMs };
}

/** Where a loop goes on after a question. */
export interface LoopSoFar {
  rounds: number;
  /** The tasks that the team's strategy gave. */
  given: DoneTask[];
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
  answer: z.custom<RunAnswer>(), // model: its last answer
  rounds: z.number().default(0), // model: how often it was asked; caller: before the question
  given: z.array(z.custom<DoneTask>()).default(() => []), // tools, caller: what members answered to the team's strategy
  isGiven: z.boolean().default(false), // model: the calls are those of the team's strategy
  asks: z.custom<ToAsk>().nullable().default(null), // model, tools: what the turn waits for
  handoff: z.custom<Handoff>().nullable().default(null), // tools: another agent answers
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
function reachedLimit({ rounds }: AgentLoopState, { agent: { limits }, run, elapsedMs }: Loop): string | null {
  const calls = run.budget.reached();
  if (calls !== null) return `${calls} calls of tools`;
  if (elapsedMs() >= limits.timeout_s * 1_000) return `${limits.timeout_s} seconds`;
  if (rounds + 1 >= limits.max_steps) return `${limits.max_steps} steps`;
  return null;
}

const NO_WORDS: RunAnswer = { text: "", toolCalls: [], usage: undefined, error: null, cut: null, answeredBy: "", ms: 0 };

function tellLimit({ turn, agent }: Loop, reached: string): void {
  const message = `The agent "${agent.name}" has reached its limit of ${reached}. It answers from what there is.`;
  emit(turn.runtime, { status: "notice", content: { code: "agent_limit", message } });
}

const answerNow = (why: string): BaseMessage =>
  new HumanMessage(`${why}: no more tools can be called. Answer now from what there is, and say what is missing.`);

/** An answer's step; `output`: the model's words before its calls. */
export function modelStep({ turn, agent, run }: RunningAgent, answer: RunAnswer, output?: string): NewStep {
  return {
    ...{ seq: turn.progress.steps + 1, agent: agent.name, path: run.path, task: run.task, kind: "model", name: answer.answeredBy },
    output,
    echo: answer.echo,
    tokens: answer.usage?.output_tokens ?? estimateTokens(answer.text),
    ms: answer.ms,
  };
}

/** The step of tasks that the team's strategy gives. */
function strategyStep({ turn, agent, run }: RunningAgent): NewStep {
  const { strategy } = agent.team;
  return { seq: turn.progress.steps + 1, agent: agent.name, path: run.path, task: run.task, kind: "agent", name: strategy, ms: 0 };
}

type CallInLoop = Omit<ModelCall<FittingPrompt>, "choices" | "mustSee" | "modelOptions" | "messageId">;

/** Asks the model of an agent, and counts what its answer took. A failure of the model is in the answer. */
export async function askForAgent({ turn, run, choices }: RunningAgent, task: AgentTask, call: CallInLoop): Promise<RunAnswer> {
  const { mustSee = false, modelOptions, answerId: messageId } = task;
  const began = performance.now();
  const asked = await askModel(turn, { ...call, choices, mustSee, modelOptions, messageId });
  noteAnswer(turn, run, asked);
  return { ...asked.answer, answeredBy: asked.answeredBy, ms: millisecondsSince(began) };
}

/** Asks the model, without tools for its last answer. A model's failure is in the answer. */
async function model(state: AgentLoopState, runtime: AgentLoopRuntime): AgentLoopUpdate {
  const loop = loopOf(runtime);
  const { turn, agent, run, calls, tools, start, task } = loop;
  const given = state.end === null && givesTasks(agent) ? nextTasks(agent, tools, turn.state.message, state.given) : [];
  if (given.length > 0) return { answer: { ...NO_WORDS, toolCalls: given }, isGiven: true };
  if (!state.mayStep && isStoppedBefore(turn, state.rounds === 0 ? "first_model" : "next_model")) {
    calls.note({ pending: [], about: "step", end: state.end });
    return { asks: toAskAbout(agent, run, { question: stepQuestion(agent.name, null) }) };
  }
  const limit = reachedLimit(state, loop);
  const isBehindCalls = state.rounds > 0;
  if (limit !== null && isBehindCalls && state.end === null) tellLimit(loop, limit);
  const why = state.end ?? (limit !== null && isBehindCalls ? `The limit of ${limit} is reached` : null);
  const isLast = limit !== null || state.end !== null;
  const offered = isLast ? [] : tools.filter(({ isOffered = true }) => isOffered);
  const schemas = toolTokens(offered);
  const behind = [...state.messages.slice(start.length), ...(why === null ? [] : [answerNow(why)])];
  const answer = await askForAgent(loop, task, {
    assemble: (budget) => fitLoop({ start, again: task.prompt, behind }, budget, schemas),
    toolTokens: schemas,
    tools: isLast || offered.length < Math.min(1, tools.length) ? undefined : offered.map(offeredTool),
    strategy: behind.length > 0 ? "prune" : "truncate",
    onToken: task.onToken,
  });
  return { answer, rounds: state.rounds + 1, isLast, mayStep: false, isGiven: false };
}

/** Stores and runs the calls of an answer. With a question the turn waits, and some calls have no result yet. Throws AppError. */
async function tools({ answer, isGiven, given }: AgentLoopState, runtime: AgentLoopRuntime): AgentLoopUpdate {
  const loop = loopOf(runtime);
  const { run, calls, showPictures } = loop;
  const { progress } = loop.turn;
  const thought = isGiven ? strategyStep(loop) : modelStep(loop, answer, answer.text);
  const { called } = progress;
  const asked = answer.toolCalls.map((call, index): PendingCall => {
    called.push(call.name);
    return { ...call, seq: thought.seq + index + 1, nth: called.filter((name) => name === call.name).length };
  });
  progress.steps += asked.length + 1; // before it is stored: a subagent beside this one takes the next numbers
  const free = run.budget.left();
  run.budget.take(asked.length);
  run.toolCalls += asked.length;
  const { calls: made, results, outputs, pictures, asks, end, handoff } = await calls.ofAnswer(asked, thought, free);
  const shown = made.map(({ id, name, ...call }) => ({ id, name, arguments: shownArguments(call) }));
  const said = assistantMessage({ text: answer.text, calls: shown, echo: answer.echo ?? null });
  const done = isGiven ? [...given, ...outputs] : given;
  return { messages: [said, ...results, ...showPictures(pictures)], asks, end, handoff, given: done };
}

const hasCalls = ({ asks, answer, isLast, isGiven }: AgentLoopState): "tools" | typeof END =>
  asks === null && answer.error === null && answer.toolCalls.length > 0 && (isGiven || !isLast) ? "tools" : END;

const isOver = ({ asks, handoff }: AgentLoopState): "model" | typeof END => (asks === null && handoff === null ? "model" : END);

/** `model ⇄ tools`, until the model answers without a call, a limit is reached, it goes round in circles, or somebody has to be asked. */
export const agentLoop = new StateGraph(AgentLoopState, AgentLoopContext)
  .addNode("model", model)
  .addNode("tools", tools)
  .addEdge(START, "model")
  .addConditionalEdges("model", hasCalls, ["tools", END])
  .addConditionalEdges("tools", isOver, ["model", END])
  .compile({ name: "agent", checkpointer: false }); // steps are stored before they run

/** What came of a run: an answer, which may have an error, a question for somebody, or a handoff. */
export interface RunOutcome {
  answer: RunAnswer | null;
  asks: ToAsk | null;
  /** `isNew`: nobody was told of it yet. */
  handoff: { handoff: Handoff; isNew: boolean } | null;
}

/** The most supersteps of LangGraph with these limits: a strategy gives each member at most one round. */
const recursionLimit = ({ limits: { max_steps }, subagents }: Agent): number => 2 * (max_steps + subagents.length) + 2;

/**
 * Runs an agent's loop after a prompt, to its answer, a question or a handoff. Throws AppError, or the signal's reason.
 */
export async function runAgent(running: RunningAgent, task: AgentTask): Promise<RunOutcome> {
  const { turn, agent, choices } = running;
  const { name } = firstChoice(choices);
  const start = await task.prompt(turn.limits.of(name));
  const loop: Loop = { ...running, task, start, showPictures: makeShowPictures({ sight: turn.sight, model: name }) };
  const options = { context: { loop }, recursionLimit: recursionLimit(agent), callbacks: [] };
  const { answer, asks, handoff } = await agentLoop.invoke({ messages: start, ...task.soFar }, options);
  const handed = handoff && { handoff, isNew: true };
  return asks || handed ? { answer: null, asks, handoff: handed } : { answer, asks, handoff: null };
}
