import { batch, signal, type Signal } from "@preact/signals";
import type {
  ChatRequest,
  ContextCompressed,
  DecisionRejected,
  ErrorContent,
  Notice,
  PlanItem,
  RouteDecision,
  TurnEvent,
  TurnResult,
} from "../../api/types.ts";
import { randomId } from "../../browser/random-id.ts";
import { type Act, beginAct, endAct } from "./acts.ts";
import { addQuestion, type Asked, closeOpen, closeQuestion, NOTHING_ASKED } from "./asked.ts";

/** `waiting` until the first token; `asking` until somebody answers; `done` and `failed` are ends. */
export type Phase = "waiting" | "streaming" | "asking" | "reconnecting" | "stopping" | "done" | "failed";

/** A turn as it is stored across a reload. */
export interface TurnRecord {
  idempotencyKey: string;
  body: ChatRequest;
  turnId: string | null;
  lastEventId: string | null;
  text: string;
  error: ErrorContent | null;
}

/** A turn that this page sent or follows. `text` grows once per animation frame. */
export interface LiveTurn {
  readonly idempotencyKey: string;
  readonly body: ChatRequest;
  readonly sentAt: string;
  /** Sent by another tab or device: its key is unknown, so it cannot be run again. */
  readonly isFollowed: boolean;
  readonly phase: Signal<Phase>;
  readonly text: Signal<string>;
  readonly turnId: Signal<string | null>;
  readonly route: Signal<RouteDecision | null>;
  readonly notices: Signal<Notice[]>;
  readonly acts: Signal<Act[]>;
  /** What rules did about calls. */
  readonly rejected: Signal<DecisionRejected[]>;
  readonly asked: Signal<Asked>;
  readonly plan: Signal<PlanItem[]>;
  /** Grows with `text`. */
  readonly thoughts: Signal<string>;
  readonly compressed: Signal<ContextCompressed[]>;
  readonly result: Signal<TurnResult | null>;
  readonly error: Signal<ErrorContent | null>;
  readonly runIds: Set<string>;
  lastEventId: string | null;
}

export const isOver = ({ phase }: LiveTurn): boolean => phase.value === "done" || phase.value === "failed";

export const isAsking = ({ phase }: LiveTurn): boolean => phase.value === "asking";

export interface LiveTurnOptions {
  kept?: TurnRecord;
  /** When it was sent from elsewhere. */
  followedSince?: string;
}

export function makeLiveTurn(body: ChatRequest, { kept, followedSince }: LiveTurnOptions = {}): LiveTurn {
  return {
    idempotencyKey: kept?.idempotencyKey ?? randomId(),
    body,
    sentAt: followedSince ?? new Date().toISOString(),
    isFollowed: followedSince !== undefined,
    phase: signal<Phase>(kept?.error ? "failed" : "waiting"),
    text: signal(kept?.text ?? ""),
    turnId: signal(kept?.turnId ?? null),
    route: signal(null),
    notices: signal([]),
    acts: signal([]),
    rejected: signal([]),
    asked: signal(NOTHING_ASKED),
    plan: signal([]),
    thoughts: signal(""),
    compressed: signal([]),
    result: signal(null),
    error: signal(kept?.error ?? null),
    runIds: new Set(kept?.turnId ? [kept.turnId] : []),
    lastEventId: kept?.lastEventId ?? null,
  };
}

export function toRecord(turn: LiveTurn): TurnRecord {
  const { idempotencyKey, body, lastEventId } = turn;
  return { idempotencyKey, body, lastEventId, turnId: turn.turnId.value, text: turn.text.value, error: turn.error.value };
}

/** Takes a turn's events; tokens show at the next animation frame, or at `flush`. */
export function makeEventTaker(turn: LiveTurn): { take: (events: (TurnEvent & { id: string | null })[]) => void; flush: () => void } {
  let buffered = "";
  let thought = "";
  let bufferedId: string | null = null;
  let timer: number | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (bufferedId !== null) turn.lastEventId = bufferedId;
    bufferedId = null;
    if (thought !== "") turn.thoughts.value += thought;
    thought = "";
    if (buffered === "") return;
    const text = turn.text.value + buffered;
    buffered = "";
    batch(() => {
      turn.text.value = text;
      if (turn.phase.value !== "stopping") turn.phase.value = "streaming";
    });
  }

  /** A hidden page gets no animation frames. */
  function schedule(): void {
    if (timer !== undefined) return;
    timer = setTimeout(flush, 250);
    requestAnimationFrame(flush);
  }

  function takeOne(event: TurnEvent): void {
    switch (event.status) {
      case "token":
        buffered += event.content;
        return;
      case "route_decision":
        turn.route.value = event.content;
        return;
      case "notice":
        turn.notices.value = [...turn.notices.value, event.content];
        return;
      case "thought":
        thought += event.content;
        return;
      case "tool_call":
        turn.acts.value = beginAct(turn.acts.value, event.content);
        return;
      case "tool_result":
        turn.acts.value = endAct(turn.acts.value, event.content);
        return;
      case "decision_rejected":
        turn.rejected.value = [...turn.rejected.value, event.content];
        return;
      case "plan":
        turn.plan.value = event.content.items;
        return;
      case "context_compressed":
        turn.compressed.value = [...turn.compressed.value, event.content];
        return;
      case "permission_asked":
      case "clarification_asked":
      case "decision_asked":
        turn.asked.value = addQuestion(turn.asked.value, event.content);
        return;
      case "permission_replied":
      case "clarification_answered":
      case "decision_answered":
        turn.asked.value = closeQuestion(turn.asked.value, event.content.question_id, event.content.answer, event.content.by);
        return;
      case "execution_log":
      case "handoff": // its call tells it
        return;
      case "waiting":
        flush();
        batch(() => {
          turn.asked.value = addQuestion(turn.asked.value, event.content.question);
          if (turn.phase.value !== "stopping") turn.phase.value = "asking";
        });
        return;
      case "done":
        flush();
        batch(() => {
          turn.result.value = event.content;
          turn.asked.value = closeOpen(turn.asked.value);
          if (turn.text.value !== event.content.answer) turn.text.value = event.content.answer;
          turn.phase.value = "done";
        });
        return;
      case "error":
        flush();
        batch(() => {
          turn.error.value = event.content;
          turn.asked.value = closeOpen(turn.asked.value);
          turn.phase.value = "failed";
        });
    }
  }

  return {
    take(events) {
      for (const event of events) {
        takeOne(event);
        bufferedId = event.id ?? bufferedId;
      }
      schedule();
    },
    flush,
  };
}
