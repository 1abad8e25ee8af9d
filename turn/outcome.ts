import { AppError, type ErrorContent } from "../errors/app-error.ts";
import { ASSISTANT } from "./agent.ts";
import type { ConversationState, Cut, Layer, Receipt, RouteDecision } from "./state.ts";
import { type Cost, NO_CONTEXT, type TurnUsage } from "./usage.ts";
import type { CallerCall } from "./caller-tools.ts";
import type { TurnProgress } from "./context.ts";
import type { Notice, TurnResult, TurnTimings } from "./events.ts";
import type { TurnInput } from "./turn-input.ts";

/** The last event without the answer's text, and the notices before it. */
export interface TurnOutcome {
  completed: boolean;
  error: ErrorContent | null;
  /** Undefined in outcomes of earlier versions. */
  cut?: Cut;
  /** Where this turn's text begins in a continued answer. */
  continues_at?: number;
  /** Characters streamed before the stored answer: what an agent said before its calls. */
  said_before?: number;
  route_decision: RouteDecision | null;
  /** Null when the model was not asked. */
  usage: TurnUsage | null;
  /** Undefined in outcomes of earlier versions. */
  cost?: Cost;
  receipt: Receipt | null;
  timings: TurnTimings;
  degraded: Layer[];
  notices: Notice[];
  /** The facts of the request that the caller wanted kept. */
  asked?: Record<string, unknown>;
  /** Undefined in outcomes of earlier versions. */
  agent?: string;
  model?: string | null;
  tool_calls?: number;
  steps?: number;
  /** The calls of the caller's tools that ended the turn. */
  calls?: CallerCall[];
}

/** `ifSuperseded` overrides fields if another turn has taken the conversation. */
export interface StorableOutcome {
  outcome: TurnOutcome;
  ifSuperseded: Partial<TurnOutcome>;
}

export const SUPERSEDED = new AppError(
  "turn_superseded",
  "Another turn took over the conversation before this answer was stored. The part that exists is kept as incomplete.",
).toContent();

/** The end of a stream whose turn goes on. */
export const GOES_ON_ELSEWHERE = new AppError(
  "shutting_down",
  "This process is stopping, and another one goes on with the turn. Request its stream again, with the last id as Last-Event-ID. Do not send the message again without its Idempotency-Key.",
).toContent();

export const turnTakenOver = (): AppError =>
  new AppError("turn_superseded", "Another turn took over the conversation, or another process this turn.");

export const turnCancelled = (): AppError =>
  new AppError("turn_cancelled", "The turn was cancelled. The part of the answer that exists is kept as incomplete.");

export const turnDeleted = (): AppError =>
  new AppError(
    "turn_superseded",
    "The conversation or this message was deleted while this turn was answering. Nothing of the answer was kept.",
  );

/** Stands in the `metadata` of the messages of a turn that leaves no memory. */
export const NOT_REMEMBERED = { remember: false } as const;

/** The metadata of a new question, but for its turn's id. */
export const questionMetadata = ({ remember = true, chosen = null }: Pick<TurnInput, "remember" | "chosen">): string =>
  JSON.stringify({ ...(chosen ? { chosen } : {}), ...(remember ? {} : NOT_REMEMBERED) });

/** Begins the session ids of turns without a conversation. */
export const ONCE = "once-";

/** Studio has no `progress`. */
function turnTimings(nodes: Record<string, number>, progress: TurnProgress | undefined): TurnTimings {
  return {
    total_ms: progress?.totalMs ?? Object.values(nodes).reduce((sum, ms) => sum + ms, 0),
    first_token_ms: progress?.firstTokenMs ?? null,
    nodes,
    started: progress?.started ?? {},
  };
}

export function turnOutcome(state: ConversationState, progress: TurnProgress | undefined): StorableOutcome {
  const saidBefore = (progress?.characters ?? 0) - state.answer.length;
  const outcome: TurnOutcome = {
    completed: !state.partialAnswer && state.error === null,
    error: state.error,
    cut: state.cut,
    ...(state.continued ? { continues_at: state.continued.text.length } : {}),
    ...(saidBefore > 0 ? { said_before: saidBefore } : {}),
    // Undefined when the turn failed before it was routed.
    route_decision: state.routeDecision ?? null,
    usage: state.usage,
    cost: state.cost,
    receipt: state.receipt,
    timings: turnTimings(state.timings, progress),
    degraded: state.degraded,
    notices: progress?.notices ?? [],
    ...(state.asked ? { asked: state.asked } : {}),
    agent: state.agent?.name ?? ASSISTANT,
    model: state.answeredBy,
    tool_calls: state.toolCalls,
    steps: state.steps,
    ...(state.calls.length > 0 ? { calls: state.calls } : {}),
  };
  return { outcome, ifSuperseded: state.error ? {} : { completed: false, error: SUPERSEDED } };
}

/** The outcome of a failed turn: only the user's message is stored. */
export function failedTurnOutcome(error: ErrorContent, progress: TurnProgress | undefined): StorableOutcome {
  const timings = turnTimings({}, progress);
  const nothing = { route_decision: null, usage: null, receipt: null, degraded: [], notices: progress?.notices ?? [] };
  const outcome: TurnOutcome = { completed: false, error, timings, ...nothing };
  return { outcome, ifSuperseded: {} };
}

/** Null for a turn that failed. */
export function toTurnResult(
  outcome: TurnOutcome,
  { conversationId, answerId, answer }: { conversationId: string; answerId: string | null; answer: string | null },
): TurnResult | null {
  const { completed, cut = null, usage, cost = null, timings, receipt, degraded } = outcome;
  const { agent = ASSISTANT, model = null, tool_calls = 0, steps = 0 } = outcome;
  if (outcome.error || !usage || !receipt) return null;
  return {
    answer: answer ?? "",
    conversation_id: conversationId,
    message_id: answerId ?? "",
    completed,
    cut,
    usage: { ...NO_CONTEXT, ...usage },
    cost,
    timings,
    receipt,
    degraded,
    agent,
    model,
    tool_calls,
    steps,
  };
}
