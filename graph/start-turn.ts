import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { TurnKey, OnBusy, TurnContext, TurnProgress } from "../turn/context.ts";
import type { ConversationGraph } from "./build-graph.ts";
import { makeEventLog } from "./event-log.ts";
import { type GraphWatch, streamGraph } from "./stream-graph.ts";
import { type LAST_STATUS, millisecondsSince, type NodeEvent, type Notice, type TurnEvent } from "../turn/events.ts";
import type { ConversationState } from "../turn/state.ts";
import type { Usage } from "../turn/usage.ts";
import { toTurnResult, turnCancelled, turnOutcome } from "../turn/outcome.ts";
import type { ResumedTurn } from "../turn/resumed-turn.ts";
import type { TurnInput } from "../turn/turn-input.ts";

/** How a turn runs, and what it reports. */
export interface TurnOptions {
  /** A UUID. Default: a new one. */
  turnId?: string;
  /** Default `refuse`. */
  onBusy?: OnBusy;
  /** The Idempotency-Key. `accepted` rejects with KeyTaken when a turn has it already. */
  key?: TurnKey;
  /** The turn goes on after its question. */
  resumed?: ResumedTurn;
  /** Told before anything else. Default: none. */
  notices?: readonly Notice[] | undefined;
  /** Sees the run of the graph itself. Default: nobody, and the graph streams nothing. */
  watch?: GraphWatch | undefined;
  /** How the turn ended, or will, in another process that took it over; null: none did. Default: none does. */
  endElsewhere?: (() => Promise<LastEvent | null>) | undefined;
  /** Receives every failure with its cause: for a log, not for clients. */
  onError?: (error: AppError) => void;
  /** Receives the whole turn's token counts before it ends or waits, also after a failure. */
  onUsage?: (usage: Usage) => void;
}

/** The event that ends every turn, or the part before a question. */
export type LastEvent = Extract<TurnEvent, { status: (typeof LAST_STATUS)[number] }>;

export interface SentBefore {
  characters: number;
  legs: number;
}

/** A turn under way. It ends even if nobody reads its events. */
export interface RunningTurn {
  turnId: string;
  /** Resolves when the message is stored; rejects with an AppError when the turn is refused. */
  accepted: Promise<{ conversationId: string; messageId: string }>;
  /** All events from the first, for any number of readers. The last comes when everything is stored. */
  events(): AsyncGenerator<TurnEvent, void>;
  /** For a resumed turn: the characters sent before its last question, and the number of its questions. */
  before?: SentBefore | undefined;
  /** The same events in batches. */
  eventBatches(): AsyncGenerator<TurnEvent[], void>;
  watch?: GraphWatch | undefined;
  /** Stops the model. The partial answer is stored as incomplete. */
  cancel(reason?: AppError): void;
  /** Resolves to the last event when everything is stored; never rejects. */
  ended: Promise<LastEvent>;
}

function toLastEvent(state: ConversationState, progress: TurnProgress): LastEvent {
  const { question, turnId: turn_id, conversationId: conversation_id } = state;
  if (question) return { status: "waiting", content: { turn_id, conversation_id, question, usage: state.usage } };
  const { outcome } = turnOutcome(state, progress);
  if (outcome.error) return { status: "error", content: outcome.error };
  const { conversationId, answerMessageId: answerId, answer } = state;
  const content = toTurnResult(outcome, { conversationId, answerId, answer });
  if (!content) throw new Error("the graph ended with neither an answer nor an error");
  return { status: "done", content };
}

/** Starts a turn and returns at once. The caller must validate `input`. */
export function startTurn(
  graph: ConversationGraph,
  input: TurnInput,
  { turnId = uuidv7(), onBusy = "refuse", key, resumed, notices: toTell = [], watch, endElsewhere, onError, onUsage }: TurnOptions = {},
): RunningTurn {
  const before = resumed && { characters: resumed.state.characters, legs: resumed.state.leg };
  const log = makeEventLog<TurnEvent>();
  const cancellation = new AbortController();
  const accepted = Promise.withResolvers<{ conversationId: string; messageId: string }>();
  accepted.promise.catch(() => undefined); // the events end with the same error
  const began = performance.now();
  let firstTokenAt: number | null = null;
  let isOver = false;
  let characters = before?.characters ?? 0;
  const notices: Notice[] = [...(resumed?.state.notices ?? [])];
  const started: Record<string, number> = {};
  const progress = (): TurnProgress => ({
    totalMs: millisecondsSince(began),
    firstTokenMs: firstTokenAt === null ? null : millisecondsSince(began, firstTokenAt),
    started,
    notices,
    characters,
  });

  function record(event: NodeEvent): void {
    if (isOver) return;
    if (event.status === "accepted") {
      accepted.resolve({ conversationId: event.content.conversation_id, messageId: event.content.message_id });
      return;
    }
    if (event.status === "token") {
      firstTokenAt ??= performance.now();
      characters += event.content.length;
    }
    if (event.status === "notice") notices.push(event.content);
    log.append(event);
    watch?.onEvent(event);
  }

  async function run(): Promise<LastEvent> {
    for (const content of toTell) record({ status: "notice", content });
    const context = {
      turnId,
      onBusy,
      key,
      resumed,
      progress,
      signal: cancellation.signal,
      onEvent: record,
      onError(error: AppError) {
        if (!isOver) onError?.(error);
      },
      onNodeStart(name: string) {
        started[name] = millisecondsSince(began);
      },
    } satisfies TurnContext;
    const state = watch ? await streamGraph(graph, input, context, watch) : await graph.invoke(input, { context });
    if (state.usage) onUsage?.(state.usage);
    const last = toLastEvent(state, progress());
    const isLost = last.status === "error" && last.content.code === "turn_superseded";
    return (isLost ? await endElsewhere?.() : null) ?? last;
  }

  function end(last: LastEvent): LastEvent {
    accepted.reject(new Error("the turn ended without being accepted")); // no effect once it has settled
    isOver = true;
    log.append(last);
    watch?.onEvent(last);
    log.end();
    return last;
  }

  /** Cancels the nodes beside the one that threw: LangGraph lets them run on. */
  function fail(thrown: unknown): LastEvent {
    const error = toAppError(thrown);
    accepted.reject(error);
    onError?.(error);
    const last = end({ status: "error", content: error.toContent() });
    cancellation.abort(new AppError("turn_cancelled", "The turn had ended before this was done."));
    return last;
  }

  return {
    turnId,
    before,
    watch,
    accepted: accepted.promise,
    async *events() {
      for await (const batch of log.readBatches()) yield* batch;
    },
    eventBatches: () => log.readBatches(),
    cancel: (reason = turnCancelled()) => cancellation.abort(reason),
    ended: run().then(end, fail),
  };
}
