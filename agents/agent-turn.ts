import { shareOf } from "../models/facts/prompt-budget.ts";
import type { AskedModel, AskingTurn } from "../prompt/ask-model.ts";
import type { FittingPrompt } from "../prompt/ask-model.ts";
import type { PermissionStore } from "../stores/postgres/agents/permission-store.ts";
import type { QuestionStore } from "../stores/postgres/agents/question-store.ts";
import type { StepOfMessage, StepStore } from "../stores/postgres/agents/step-store.ts";
import type { HeldTurn } from "../stores/postgres/turns/recover-turn.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { Agent } from "../turn/agent.ts";
import type { ResumedTurn, TurnSoFar, WaitingState } from "../turn/resumed-turn.ts";
import type { StepKind } from "../turn/state.ts";
import { NO_CONTEXT } from "../turn/usage.ts";
import type { ToolHooks } from "./run-tool-call.ts";

export interface AgentTurn extends AskingTurn {
  held: HeldTurn;
  messageId: string;
  steps: StepStore;
  questions: Pick<QuestionStore, "ask">;
  permissions: Pick<PermissionStore, "ofAgent">;
  hooks: ToolHooks;
  toolTimeoutMs: number;
  /** The steps of earlier attempts at this message, and of this turn before its question. */
  earlier: readonly StepOfMessage[];
  progress: AgentProgress;
  /** Somebody can answer. A subagent asks nobody: its turn cannot wait during a call. */
  interactive: boolean;
  /** Where a stepping turn stops; null: before all. */
  stopsBefore: readonly StepKind[] | null;
  /** What the turn needs to go on, without its steps; null: a subagent's part does not go on by itself. */
  toResume: ((agent: Agent) => Pick<WaitingState, "given" | "routeDecision" | "leg">) | null;
  leaseMs: number;
}

/** What the turn needs to go on from here, or null. `elapsedMs`: how long the agent has run, without waiting. */
export function resumeFrom(
  { runtime, progress, toResume }: AgentTurn,
  agent: Agent,
  { elapsedMs, ...at }: Pick<WaitingState, "pending" | "about" | "end"> & { elapsedMs: number },
): WaitingState | null {
  if (!toResume) return null;
  const { loopsFrom, isStepping, models, usage, steps, called } = progress;
  const soFar = {
    usage,
    steps,
    called,
    models: [...models],
    elapsedMs,
    ...(loopsFrom === undefined ? {} : { loopsFrom }),
    ...(isStepping ? { isStepping } : {}),
  };
  const { notices = [], characters = 0 } = runtime.context?.progress?.() ?? {};
  return { ...toResume(agent), ...at, soFar, notices, characters };
}

export const isStoppedBefore = (
  { progress, interactive, stopsBefore }: Pick<AgentTurn, "progress" | "interactive" | "stopsBefore">,
  kind: StepKind,
): boolean => progress.isStepping === true && interactive && (stopsBefore?.includes(kind) ?? true);

/** A turn's progress. `elapsedMs`: before its last question. */
export interface AgentProgress extends Omit<TurnSoFar, "models"> {
  /** The models that answered, in order. */
  models: Set<string>;
  askedAt: number;
}

export function startProgress(resumed: ResumedTurn | undefined, isStepping: boolean): AgentProgress {
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, estimated: false, ...NO_CONTEXT };
  const soFar = resumed?.state.soFar ?? { usage, steps: 0, called: [], models: [], elapsedMs: 0, isStepping };
  return { ...soFar, called: [...soFar.called], models: new Set(soFar.models), askedAt: performance.now() };
}

/** Counts an answer. `usage_ratio` is the last prompt's. */
export function noteAnswer(progress: AgentProgress, { answer, prompt: asked, limit, answeredBy }: AskedModel<FittingPrompt>): void {
  progress.models.delete(answeredBy);
  progress.models.add(answeredBy);
  const { usage, text, toolCalls } = answer;
  const prompt = usage?.input_tokens ?? asked.tokens;
  const completion = usage?.output_tokens ?? estimateTokens(text + toolCalls.map((call) => call.name + call.arguments).join(""));
  const sum = progress.usage;
  progress.usage = {
    prompt_tokens: sum.prompt_tokens + prompt,
    completion_tokens: sum.completion_tokens + completion,
    total_tokens: sum.total_tokens + (usage?.total_tokens ?? prompt + completion),
    estimated: sum.estimated || !usage,
    cached_tokens:
      usage?.input_token_details?.cache_read === undefined
        ? sum.cached_tokens
        : (sum.cached_tokens ?? 0) + usage.input_token_details.cache_read,
    context_limit: limit,
    usage_ratio: shareOf(prompt, limit),
  };
}
