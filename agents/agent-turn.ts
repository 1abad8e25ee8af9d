import { bulkhead } from "cockatiel";
import { costOf, shareOf } from "../models/facts/prompt-budget.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import type { AskedModel, AskingTurn, FittingPrompt } from "../prompt/ask-model.ts";
import type { PermissionStore } from "../stores/postgres/agents/permission-store.ts";
import type { QuestionStore } from "../stores/postgres/agents/question-store.ts";
import type { NewStep, Step, StepOfMessage, StepStore } from "../stores/postgres/agents/step-store.ts";
import { retryWhileUnreachable } from "../stores/postgres/turns/turn-lease.ts";
import type { Agent } from "../turn/agent.ts";
import type { HeldTurn } from "../stores/postgres/turns/recover-turn.ts";
import { estimateTokens } from "../text/tokens.ts";
import {
  NOTHING_SPENT,
  type ResumedTurn,
  type RunState,
  runStateOf,
  type Spent,
  type TurnSoFar,
  type WaitingState,
} from "../turn/resumed-turn.ts";
import type { ConversationState, StepKind } from "../turn/state.ts";
import { turnTakenOver } from "../turn/outcome.ts";
import { NO_CONTEXT } from "../turn/usage.ts";
import type { ToolHooks } from "./run-tool-call.ts";

/** A model's answer in a run. `ms`: from the question to its end. */
export interface RunAnswer extends ModelAnswer {
  answeredBy: string;
  ms: number;
}

/** What all runs of a turn share: that of the agent that answers, and those of its members. */
export interface AgentTurn extends AskingTurn {
  state: ConversationState;
  held: HeldTurn;
  messageId: string;
  steps: StepStore;
  questions: Pick<QuestionStore, "ask" | "letGo">;
  permissions: Pick<PermissionStore, "ofAgent">;
  hooks: ToolHooks;
  toolTimeoutMs: number;
  timeZone: string;
  /** Null: unknown. */
  prices: (model: string) => ModelPrices | null;
  /** The steps of earlier attempts at this message, and of this turn before its question. */
  earlier: readonly StepOfMessage[];
  resumed: ResumedTurn | undefined;
  progress: AgentProgress;
  /** Somebody can answer. */
  interactive: boolean;
  /** Where a stepping turn stops; null: before all. */
  stopsBefore: readonly StepKind[] | null;
  /** What the turn needs to go on, without its steps. */
  toResume: () => Pick<WaitingState, "given" | "routeDecision" | "leg">;
  leaseMs: number;
}

/** What the turn needs to go on from here. `asks`: the task whose run asks; 0: the agent that answers. */
export function resumeFrom({ runtime, progress, toResume }: AgentTurn, asks = 0): WaitingState {
  const { isStepping, models, usage, steps, called, runs, spent, handed } = progress;
  const states = new Map([...runs].map(([task, state]) => [task, state()]));
  const { pending = [], elapsedMs = 0, loopsFrom, ...lead } = states.get(0) ?? {};
  states.delete(0);
  const soFar = {
    ...{ usage, steps, called, models: [...models], elapsedMs, spent },
    ...(loopsFrom === undefined ? {} : { loopsFrom }),
    ...(isStepping ? { isStepping } : {}),
  };
  const { notices = [], characters = 0 } = runtime.context?.progress?.() ?? {};
  return {
    ...{ ...toResume(), ...lead, pending, soFar, notices, characters },
    ...(states.size > 0 ? { members: Object.fromEntries(states) } : {}),
    ...(asks > 0 ? { asks } : {}),
    ...(handed.length > 0 ? { handed: [...handed] } : {}),
  };
}

/** A turn's progress. `elapsedMs`: before its last question. */
export interface AgentProgress extends Omit<TurnSoFar, "models" | "spent"> {
  /** The models that answered, in order. */
  models: Set<string>;
  /** The runs that have not ended, by the step that gave the task; 0: the agent that answers. */
  runs: Map<number, () => RunState>;
  spent: Spent;
  /** The agents that answered before a handoff. */
  handed: string[];
}

export function startProgress(resumed: ResumedTurn | undefined, isStepping: boolean): AgentProgress {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, estimated: false, ...NO_CONTEXT };
  const soFar = resumed?.state.soFar ?? { usage, steps: 0, called: [], models: [], elapsedMs: 0, isStepping };
  const members = Object.entries(resumed?.state.members ?? {}).map(([task, state]) => [Number(task), () => state] as const);
  const rest = { runs: new Map(members), spent: soFar.spent ?? NOTHING_SPENT, handed: [...(resumed?.state.handed ?? [])] };
  return { ...soFar, ...rest, called: [...soFar.called], models: new Set(soFar.models) };
}

function spend({ tokens, cost }: Spent, more: Spent): Spent {
  const sum = cost && more.cost && { input_usd: cost.input_usd + more.cost.input_usd, output_usd: cost.output_usd + more.cost.output_usd };
  return { tokens: tokens + more.tokens, cost: sum };
}

/** Counts an answer, for the turn and for the run. `usage_ratio` is that of the last prompt of the agent that answers. */
export function noteAnswer(
  { progress, prices }: Pick<AgentTurn, "progress" | "prices">,
  run: { task: number; spent: Spent },
  { answer, prompt: asked, limit, answeredBy }: AskedModel<FittingPrompt>,
): void {
  progress.models.delete(answeredBy);
  progress.models.add(answeredBy);
  const { usage, text, toolCalls } = answer;
  const prompt = usage?.input_tokens ?? asked.tokens;
  const completion = usage?.output_tokens ?? estimateTokens(text + toolCalls.map((call) => call.name + call.arguments).join(""));
  const total = usage?.total_tokens ?? prompt + completion;
  const cached = usage?.input_token_details?.cache_read ?? null;
  const counted = { prompt_tokens: prompt, completion_tokens: completion, cached_tokens: cached, estimated: !usage };
  const spent = { tokens: total, cost: costOf(prices(answeredBy), counted) };
  run.spent = spend(run.spent, spent);
  progress.spent = spend(progress.spent, spent);
  const sum = progress.usage;
  progress.usage = {
    prompt_tokens: sum.prompt_tokens + prompt,
    completion_tokens: sum.completion_tokens + completion,
    total_tokens: sum.total_tokens + total,
    estimated: sum.estimated || !usage,
    cached_tokens: cached === null ? sum.cached_tokens : (sum.cached_tokens ?? 0) + cached,
    ...(run.task === 0
      ? { context_limit: limit, usage_ratio: shareOf(prompt, limit) }
      : { context_limit: sum.context_limit, usage_ratio: sum.usage_ratio }),
  };
}

/** The steps of one run: those of the task, or of the agent that answers. */
export const ownSteps = (
  { earlier, held }: Pick<AgentTurn, "earlier" | "held">,
  { name }: Pick<Agent, "name">,
  task: number,
): StepOfMessage[] => earlier.filter((step) => step.turnId === held.turnId && step.task === task && step.agent === name);

const begun = new WeakMap<AgentTurn["progress"], Promise<unknown>>();

/**
 * Stores steps before they run, with what the turn needs to go on behind them: where all of its runs stand at that moment. One statement
 * after the other, so that no older account replaces a newer one. `note` says where this run stands with these steps. `unsent`: tokens of
 * them that are not sent. Throws AppError `turn_superseded`.
 */
export async function beginSteps(
  turn: AgentTurn,
  steps: readonly NewStep[],
  { note, unsent = 0 }: { note?: () => void; unsent?: number } = {},
): Promise<void> {
  if (steps.length === 0) return note?.();
  const { held, signal, leaseMs, progress } = turn;
  const store = () => {
    note?.();
    const state = resumeFrom(turn);
    const goesOn = { leaseMs, state: { ...state, characters: state.characters - unsent } };
    return retryWhileUnreachable(() => turn.steps.begin(held, steps, goesOn), signal);
  };
  const stored = (begun.get(progress) ?? Promise.resolve()).then(store);
  const settled = stored.catch(() => undefined);
  begun.set(progress, settled);
  if (!(await stored)) throw turnTakenOver();
}

/** The calls that a run may still make: its members' count too. */
export interface CallBudget {
  left(): number;
  take(calls: number): void;
  /** The limit that is reached, or null. */
  reached(): number | null;
}

/** Runs calls side by side, as many as the run and all runs above it may have at a time. */
export type AtOnce = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** The run of an agent in a turn: it answers, or does the task of another one. */
export interface AgentRun {
  /** The step that gave the task; 0: it answers the turn. */
  task: number;
  /** The agents from the one that answers to this one. */
  path: readonly string[];
  budget: CallBudget;
  atOnce: AtOnce;
  /** What its own models took. */
  spent: Spent;
  /** Its own calls, not run ones too. */
  toolCalls: number;
}

function makeBudget(limit: number, used: number, above: CallBudget | null): CallBudget {
  let made = used;
  return {
    left: () => Math.min(limit - made, above?.left() ?? Infinity),
    take(calls) {
      made += calls;
      above?.take(calls);
    },
    reached: () => (made >= limit ? limit : (above?.reached() ?? null)),
  };
}

function makeAtOnce(most: number, above: AtOnce | null): AtOnce {
  const own = bulkhead(most, Infinity);
  return (work) => own.execute(() => (above ? above(work) : work()));
}

interface CallMade {
  seq: number;
  task: number;
  agent?: string;
}

/** The calls that runs of the turn have asked for: those that began, and those that wait. */
function callsMade(steps: readonly Step[], resumed: ResumedTurn | undefined): CallMade[] {
  const begun: CallMade[] = steps.filter(({ kind }) => kind === "tool");
  const runs = resumed ? [0, ...Object.keys(resumed.state.members ?? {}).map(Number)] : [];
  const waiting = runs.flatMap((task) => (resumed && runStateOf(resumed.state, task)?.pending)?.map(({ seq }) => ({ seq, task })) ?? []);
  return [...begun, ...waiting.filter(({ seq }) => !begun.some((step) => step.seq === seq))];
}

/** The calls below a run: its own, and those of its members. */
function callsBelow(calls: readonly CallMade[], task: number): CallMade[] {
  const taskOf = new Map(calls.map((call) => [call.seq, call.task]));
  const isBelow = (at: number): boolean => at === task || (at > 0 && isBelow(taskOf.get(at) ?? 0));
  return calls.filter((call) => isBelow(call.task));
}

interface StartedRun {
  task: number;
  path: readonly string[];
  /** The run that gave the task. */
  lead: AgentRun | null;
  /** Those of the turn. */
  steps: readonly Step[];
  resumed: ResumedTurn | undefined;
}

/** A run with what it has used of its limits. */
export function startRun({ limits }: Pick<Agent, "limits">, { task, path, lead, steps, resumed }: StartedRun): AgentRun {
  const calls = callsBelow(callsMade(steps, resumed), task);
  const name = path.at(-1);
  return {
    ...{ task, path },
    budget: makeBudget(limits.max_tool_calls, calls.length, lead?.budget ?? null),
    atOnce: makeAtOnce(limits.parallel_tools, lead?.atOnce ?? null),
    spent: (resumed && runStateOf(resumed.state, task)?.spent) ?? NOTHING_SPENT,
    toolCalls: calls.filter(({ task: of, agent = name }) => of === task && agent === name).length,
  };
}
