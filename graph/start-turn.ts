import { v7 as uuidv7 } from "uuid";
import { AppError, toAppError } from "../errors/app-error.ts";
import type { TurnKey } from "../turn/key.ts";
import type { ConversationGraph } from "./build-graph.ts";
import { makeEventLog } from "./event-log.ts";
import { millisecondsSince, type NodeEvent, type Notice, type TurnEvent, type TurnResult, type TurnTimings } from "../turn/events.ts";
import type { AgentType, ConversationState, Usage } from "../turn/state.ts";
import type { OnBusy, TurnProgress } from "../turn/context.ts";
import { turnTimings } from "../turn/outcome.ts";

/** One user message to answer. Ids are 1 to 200 characters; which ones exist is up to the caller. */
export interface TurnInput {
  /** Default `default`. */
  tenantId?: string;
  userId: string;
  /** Which of the user's conversations; a new one begins a conversation. */
  sessionId: string;
  message: string;
  /** Adds the `execution_log` events. Default false. */
  debug?: boolean;
  /** Default `hybrid_agent`. */
  agentType?: AgentType;
  /** The knowledge base to answer from; null, the default: the turn is routed. */
  requestedKbPrefix?: string | null;
}

/** How a turn is run, and who hears of it. */
export interface TurnOptions {
  /** A UUID. Default: a new one. */
  turnId?: string;
  /** Default `refuse`. */
  onBusy?: OnBusy;
  /** The Idempotency-Key of the message: `accepted` rejects with KeyTaken when a turn has it already. */
  key?: TurnKey;
  /** Hears of every failure of the turn with its cause: for a log, not for clients. */
  onError?: (error: AppError) => void;
  /** Hears what the turn has used before it ends, also when the answer failed; not when the model was not asked. */
  onUsage?: (usage: Usage) => void;
}

/** `done` or `error`, one of which ends every turn. */
export type LastEvent = Extract<TurnEvent, { status: "done" | "error" }>;

/** A turn on its way. It runs to its end whether or not its events are read. */
export interface RunningTurn {
  turnId: string;
  /** Settles when the turn holds its conversation and the message is stored; rejects with an AppError when it was refused. */
  accepted: Promise<{ conversationId: string; messageId: string }>;
  /** Every event from the first on, for any number of readers. Ends after `done` or `error`, when everything is stored. */
  events(): AsyncGenerator<TurnEvent, void>;
  /** The same, with those that are there already in one batch: fewer writes for a sender. */
  eventBatches(): AsyncGenerator<TurnEvent[], void>;
  /** Stops the model at once; what there is of the answer is kept as incomplete. */
  cancel(reason?: AppError): void;
  /** The last event, `done` or `error`, when everything is stored; never rejects. */
  ended: Promise<LastEvent>;
}

/** What a graph run came to, as the turn's last event. */
function toLastEvent(state: ConversationState, timings: TurnTimings): LastEvent {
  const { error, usage, receipt } = state;
  if (error) return { status: "error", content: error };
  if (!usage || !receipt) throw new Error("the graph ended with neither an answer nor an error");
  const content: TurnResult = {
    answer: state.answer,
    conversation_id: state.conversationId,
    message_id: state.answerMessageId ?? "",
    completed: !state.partialAnswer,
    usage,
    timings,
    receipt,
    degraded: state.degraded,
  };
  return { status: "done", content };
}

/**
 * Runs one turn. Returns at once; watch `accepted` to learn whether it was let in, and `events` for what it says. Fields of `input` are
 * taken as they are: check them first when they come from outside.
 */
export function startTurn(
  graph: ConversationGraph,
  input: TurnInput,
  { turnId = uuidv7(), onBusy = "refuse", key, onError, onUsage }: TurnOptions = {},
): RunningTurn {
  const log = makeEventLog<TurnEvent>();
  const cancellation = new AbortController();
  const accepted = Promise.withResolvers<{ conversationId: string; messageId: string }>();
  accepted.promise.catch(() => undefined); // a caller may read the events only: they end with the same error
  const began = performance.now();
  let firstTokenAt: number | null = null;
  let isOver = false;
  const notices: Notice[] = [];
  const started: Record<string, number> = {};
  const onNode = (name: string): void => void (started[name] = millisecondsSince(began));
  const told = (): TurnProgress => ({
    totalMs: millisecondsSince(began),
    firstTokenMs: firstTokenAt === null ? null : millisecondsSince(began, firstTokenAt),
    started,
    notices,
  });

  function record(event: NodeEvent): void {
    if (isOver) return;
    if (event.status === "accepted") {
      accepted.resolve({ conversationId: event.content.conversation_id, messageId: event.content.message_id });
      return;
    }
    if (event.status === "token") firstTokenAt ??= performance.now();
    if (event.status === "notice") notices.push(event.content);
    log.append(event);
  }

  function hear(error: AppError): void {
    if (!isOver) onError?.(error);
  }

  async function run(): Promise<LastEvent> {
    const state = await graph.invoke(input, {
      context: { turnId, onBusy, signal: cancellation.signal, onEvent: record, onError: hear, key, told, onNode },
    });
    if (state.usage) onUsage?.(state.usage);
    return toLastEvent(state, turnTimings(state.timings, told()));
  }

  function end(last: LastEvent): LastEvent {
    accepted.reject(new Error("the turn ended without being accepted")); // changes nothing once it was, or was refused
    isOver = true;
    log.append(last);
    log.end();
    return last;
  }

  /** LangGraph no longer waits for the nodes beside the one that threw, but lets them run: nobody wants what they would still ask for. */
  function fail(thrown: unknown): LastEvent {
    const error = toAppError(thrown);
    accepted.reject(error);
    onError?.(error);
    const last = end({ status: "error", content: error.toContent() });
    cancellation.abort(new AppError("turn_cancelled", "The turn had ended before this was done."));
    return last;
  }

  const ended = run().then(end, fail);

  return {
    turnId,
    accepted: accepted.promise,
    async *events() {
      for await (const batch of log.readBatches()) yield* batch;
    },
    eventBatches: () => log.readBatches(),
    cancel: (
      reason = new AppError("turn_cancelled", "The turn was cancelled. The part of the answer that exists is kept as incomplete."),
    ) => cancellation.abort(reason),
    ended,
  };
}
