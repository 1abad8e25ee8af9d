import { AppError, type ErrorContent } from "../errors/app-error.ts";
import type { ConversationState, Layer, Receipt, RouteDecision, Usage } from "./state.ts";
import type { TurnProgress } from "./context.ts";
import type { Notice, TurnResult, TurnTimings } from "./events.ts";

/** What a turn came to, as it is kept beside its messages: everything its last event says but the text of the answer, and what it told before. */
export interface TurnOutcome {
  completed: boolean;
  /** Null when the turn was done. */
  error: ErrorContent | null;
  route_decision: RouteDecision | null;
  /** Null when the model was not asked. */
  usage: Usage | null;
  receipt: Receipt | null;
  /** Up to the moment at which it was stored. */
  timings: TurnTimings;
  degraded: Layer[];
  notices: Notice[];
}

/** What is stored when a turn ends: its outcome, and the fields that change when another turn has taken the conversation meanwhile. */
export interface StorableOutcome {
  outcome: TurnOutcome;
  ifSuperseded: Partial<TurnOutcome>;
}

/** The error of a turn whose answer came after another turn had taken its conversation. */
export const SUPERSEDED = new AppError(
  "turn_superseded",
  "Another turn took over the conversation before this answer was stored. The part that exists is kept as incomplete.",
).toContent();

/** Of a turn whose nodes took so long; what it has told is not known where nobody listens. */
export function turnTimings(nodes: Record<string, number>, told: TurnProgress | undefined): TurnTimings {
  return {
    total_ms: told?.totalMs ?? Object.values(nodes).reduce((sum, ms) => sum + ms, 0),
    first_token_ms: told?.firstTokenMs ?? null,
    nodes,
    started: told?.started ?? {},
  };
}

/** Of a turn that has run as far as `state`. */
export function turnOutcome(state: ConversationState, told: TurnProgress | undefined): StorableOutcome {
  const outcome: TurnOutcome = {
    completed: !state.partialAnswer && state.error === null,
    error: state.error,
    // A turn that failed early has not come to all of its nodes.
    route_decision: state.routeDecision ?? null,
    usage: state.usage,
    receipt: state.receipt,
    timings: turnTimings(state.timings, told),
    degraded: state.degraded,
    notices: told?.notices ?? [],
  };
  return { outcome, ifSuperseded: state.error ? {} : { completed: false, error: SUPERSEDED } };
}

/** Of a turn that failed before it came to more than its message. */
export function failedTurnOutcome(error: ErrorContent, told: TurnProgress | undefined): StorableOutcome {
  const timings = turnTimings({}, told);
  const nothing = { route_decision: null, usage: null, receipt: null, degraded: [], notices: told?.notices ?? [] };
  const outcome: TurnOutcome = { completed: false, error, timings, ...nothing };
  return { outcome, ifSuperseded: {} };
}

/** The content of `done` again; null for a turn that failed. */
export function toTurnResult(
  outcome: TurnOutcome,
  { conversationId, answerId, answer }: { conversationId: string; answerId: string | null; answer: string | null },
): TurnResult | null {
  const { completed, usage, timings, receipt, degraded } = outcome;
  if (outcome.error || !usage || !receipt) return null;
  return {
    answer: answer ?? "",
    conversation_id: conversationId,
    message_id: answerId ?? "",
    completed,
    usage,
    timings,
    receipt,
    degraded,
  };
}
