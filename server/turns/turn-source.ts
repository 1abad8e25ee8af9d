import { setTimeout as sleep } from "node:timers/promises";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { toTurnResult, type TurnOutcome } from "../../turn/outcome.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";

/** Where the events of a turn come from: this process, its stored outcome, or another process that still runs it. */
export interface TurnSource {
  turnId: string;
  /** Settles when the turn was let in, with the id of the one that answers; rejects with an AppError when it was refused. */
  accepted: Promise<{ turnId: string }>;
  /** The turn waits in line, so its first event may come late. */
  waits: boolean;
  /** The id of the turn whose events follow: another than `turnId` when that waited in line and found its Idempotency-Key taken. Never rejects. */
  streamedTurnId: Promise<string>;
  /** Every event from the first on. `signal` aborts when the reader has left. */
  eventBatches(signal: AbortSignal): AsyncIterable<TurnEvent[]>;
  /** The last event, when the turn has ended. */
  last(signal: AbortSignal): Promise<LastEvent>;
}

/** Milliseconds between two looks at a turn of another process, growing by half each time. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

const INTERRUPTED = new AppError(
  "turn_interrupted",
  "The process that answered this message died. Send the same message again, with the same Idempotency-Key if it had one.",
).toContent();

const GOES_ON = new AppError(
  "shutting_down",
  "This process is stopping, and another one goes on with the turn. Request its stream again, with the last id as Last-Event-ID. Do not send the message again without its Idempotency-Key.",
).toContent();

export function storedOutcome({ outcome }: TurnRecord): TurnOutcome | null {
  return outcome as TurnOutcome | null;
}

export function turnGone(turnId: string): AppError {
  return new AppError("turn_gone", `The outcome of turn ${turnId} is no longer kept. Its messages are in the conversation.`);
}

/** Every event of a turn that is over. */
interface Replay {
  events: TurnEvent[];
  last: LastEvent;
}

/** The events again, fewer than there were: the answer is one token. */
function replayRecord(record: TurnRecord): Replay {
  const outcome = storedOutcome(record);
  if (!outcome) return { events: [], last: { status: "error", content: INTERRUPTED } };
  const events: TurnEvent[] = [
    ...(outcome.route_decision ? [{ status: "route_decision" as const, content: outcome.route_decision }] : []),
    ...outcome.notices.map((content) => ({ status: "notice" as const, content })),
    ...(record.answer ? [{ status: "token" as const, content: record.answer }] : []),
  ];
  const result = toTurnResult(outcome, record);
  if (result) return { events, last: { status: "done", content: result } };
  return { events, last: { status: "error", content: outcome.error ?? INTERRUPTED } };
}

async function* inOneBatch(replay: Promise<Replay>): AsyncGenerator<TurnEvent[], void> {
  const { events, last } = await replay;
  yield [...events, last];
}

/** A turn of this process. `waits`: it stands in line for a busy conversation. */
export function localSource(turn: RunningTurn, waits: boolean): TurnSource {
  const { turnId } = turn;
  const accepted = turn.accepted.then(() => ({ turnId }));
  accepted.catch(() => undefined); // its events end with the same error
  return {
    turnId,
    accepted,
    waits,
    streamedTurnId: Promise.resolve(turnId),
    eventBatches: () => turn.eventBatches(),
    last: () => turn.ended,
  };
}

/** A turn that is over, in whichever process it ran. */
export function storedSource(record: TurnRecord): TurnSource {
  const { id: turnId } = record;
  const replay = Promise.resolve(replayRecord(record));
  const last = async (): Promise<LastEvent> => (await replay).last;
  return {
    turnId,
    accepted: Promise.resolve({ turnId }),
    waits: false,
    streamedTurnId: Promise.resolve(turnId),
    eventBatches: () => inOneBatch(replay),
    last,
  };
}

/** A turn that waited in line and was refused then. */
export function refusedSource(turnId: string, error: AppError): TurnSource {
  const last: LastEvent = { status: "error", content: error.toContent() };
  const accepted = Promise.reject(error);
  accepted.catch(() => undefined); // its events end with the same error
  const eventBatches = () => inOneBatch(Promise.resolve({ events: [], last }));
  return { turnId, accepted, waits: false, streamedTurnId: Promise.resolve(turnId), eventBatches, last: () => Promise.resolve(last) };
}

/** A turn that another process runs: its events come when it has ended, or its lease has run out. */
export function remoteSource(records: TurnRecordStore, found: TurnRecord, stopping: AbortSignal): TurnSource {
  const { id: turnId, tenantId, userId } = found;

  async function waitForEnd(signal: AbortSignal): Promise<Replay> {
    const over = AbortSignal.any([signal, stopping]);
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
        if (stopping.aborted) return { events: [], last: { status: "error", content: GOES_ON } };
        signal.throwIfAborted();
        const record = await records.find({ tenantId, userId }, turnId);
        if (!record) throw new AppError("turn_superseded", "The conversation or this message was deleted while this turn was answering.");
        if (record.outcome || !record.isHeld) return replayRecord(record);
        await sleep(pause, undefined, { signal: over }).catch(() => undefined);
      }
    } catch (error) {
      return { events: [], last: { status: "error", content: toAppError(error).toContent() } };
    }
  }

  return {
    turnId,
    accepted: Promise.resolve({ turnId }),
    waits: true,
    streamedTurnId: Promise.resolve(turnId),
    eventBatches: (signal) => inOneBatch(waitForEnd(signal)),
    last: async (signal) => (await waitForEnd(signal)).last,
  };
}
