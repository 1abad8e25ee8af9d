import type { ErrorContent } from "../errors/app-error.ts";
import type { ExecutionLog, Layer, Receipt, RouteDecision, Usage } from "./state.ts";

/**
 * Milliseconds of a turn; `first_token_ms` is null when no token came. `nodes` is how long each node took, `started` when it began after the
 * turn did: those side by side overlap. Persist, which stores them, is in no stored one.
 */
export interface TurnTimings {
  total_ms: number;
  first_token_ms: number | null;
  nodes: Record<string, number>;
  started: Record<string, number>;
}

/** What a finished turn came to, also one whose answer was cut short. */
export interface TurnResult {
  answer: string;
  conversation_id: string;
  /** Of the answer. */
  message_id: string;
  /** False when the answer was cut short. */
  completed: boolean;
  usage: Usage;
  timings: TurnTimings;
  receipt: Receipt;
  /** Memory layers that are switched on but could not be used in this turn. */
  degraded: Layer[];
}

/** Something a user should know about an answer that is given all the same. */
export interface Notice {
  code: "context_trimmed" | "handler_failed";
  message: string;
}

/** What a turn tells while it runs. Ends with exactly one `done` or `error`. */
export type TurnEvent =
  | { status: "route_decision"; content: RouteDecision }
  | { status: "token"; content: string }
  | { status: "execution_log"; content: ExecutionLog }
  | { status: "notice"; content: Notice }
  | { status: "done"; content: TurnResult }
  | { status: "error"; content: ErrorContent };

/** What nodes write to LangGraph's custom stream: the turn's events, and that the turn holds its conversation from now on. */
export type NodeEvent =
  | Exclude<TurnEvent, { status: "done" | "error" }>
  | { status: "accepted"; content: { turn_id: string; conversation_id: string; message_id: string } };

/** Milliseconds from one reading of `performance.now()` to the next, to a hundredth: what timings show. */
export function millisecondsSince(began: number, now = performance.now()): number {
  return Math.round((now - began) * 100) / 100;
}
