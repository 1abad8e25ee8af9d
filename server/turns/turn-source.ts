import { setTimeout as sleep } from "node:timers/promises";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { toTurnResult, type TurnOutcome } from "../../turn/outcome.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";

/** Where a turn can be told from: this process' memory, its stored outcome, or another process that is still at work on it. */
export interface TurnSource {
  turnId: string;
  /** Settles with the id of the turn that is told when it has been let in; rejects with an AppError when it was refused. */
  accepted: Promise<{ turnId: string }>;
  /** It may be long until there is anything to tell. */
  waits: boolean;
  /** Settles before the first event with the id of the turn whose events they are, let in or not; never rejects. */
  told: Promise<string>;
  /** Every event from the first on. `signal` ends the waiting of a reader that has left. */
  eventBatches(signal: AbortSignal): AsyncIterable<TurnEvent[]>;
  /** The last event, when the turn has ended. */
  last(signal: AbortSignal): Promise<LastEvent>;
}

/** Pauses between two looks at a turn of another process, in milliseconds: from the first, growing by half, to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

const INTERRUPTED = new AppError(
  "turn_interrupted",
  "The process that answered this message died. Send the same message again, with the same Idempotency-Key if it had one.",
).toContent();

/** Whoever had no Idempotency-Key must not send the message a second time. */
const GOES_ON = new AppError(
  "shutting_down",
  "This process is stopping, the turn goes on in another. Ask for its stream again, with the last id as Last-Event-ID; do not send the message again without its Idempotency-Key.",
).toContent();

export function storedOutcome({ outcome }: TurnRecord): TurnOutcome | null {
  return outcome as TurnOutcome | null;
}

export function turnGone(turnId: string): AppError {
  return new AppError("turn_gone", `What came of turn ${turnId} is no longer kept. Its messages are in the conversation.`);
}

/** All that a turn had to tell, when it is over. */
interface Ending {
  told: TurnEvent[];
  last: LastEvent;
}

/** Fewer events than there were: the answer is one token. */
function replayRecord(record: TurnRecord): Ending {
  const outcome = storedOutcome(record);
  if (!outcome) return { told: [], last: { status: "error", content: INTERRUPTED } };
  const told: TurnEvent[] = [
    ...(outcome.route_decision ? [{ status: "route_decision" as const, content: outcome.route_decision }] : []),
    ...outcome.notices.map((content) => ({ status: "notice" as const, content })),
    ...(record.answer ? [{ status: "token" as const, content: record.answer }] : []),
  ];
  const result = toTurnResult(outcome, record);
  if (result) return { told, last: { status: "done", content: result } };
  return { told, last: { status: "error", content: outcome.error ?? INTERRUPTED } };
}

async function* together(ending: Promise<Ending>): AsyncGenerator<TurnEvent[], void> {
  const { told, last } = await ending;
  yield [...told, last];
}

/** A turn of this process; `waits`: in line, for a conversation that is busy. */
export function localSource(turn: RunningTurn, waits: boolean): TurnSource {
  const { turnId } = turn;
  const accepted = turn.accepted.then(() => ({ turnId }));
  accepted.catch(() => undefined); // its events end with the same error
  return { turnId, accepted, waits, told: Promise.resolve(turnId), eventBatches: () => turn.eventBatches(), last: () => turn.ended };
}

/** A turn that is over, in whichever process it ran. */
export function storedSource(record: TurnRecord): TurnSource {
  const { id: turnId } = record;
  const ending = Promise.resolve(replayRecord(record));
  const last = async (): Promise<LastEvent> => (await ending).last;
  const told = Promise.resolve(turnId);
  return { turnId, accepted: Promise.resolve({ turnId }), waits: false, told, eventBatches: () => together(ending), last };
}

/** A turn that was refused when it had waited in line. */
export function refusedSource(turnId: string, error: AppError): TurnSource {
  const last: LastEvent = { status: "error", content: error.toContent() };
  const accepted = Promise.reject(error);
  accepted.catch(() => undefined); // its events end with the same error
  const eventBatches = () => together(Promise.resolve({ told: [], last }));
  return { turnId, accepted, waits: false, told: Promise.resolve(turnId), eventBatches, last: () => Promise.resolve(last) };
}

/** A turn that another process runs: nothing is told until its end, or until its lease has run out. */
export function remoteSource(records: TurnRecordStore, found: TurnRecord, stopping: AbortSignal): TurnSource {
  const { id: turnId, tenantId, userId } = found;

  async function atItsEnd(signal: AbortSignal): Promise<Ending> {
    const over = AbortSignal.any([signal, stopping]);
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
        if (stopping.aborted) return { told: [], last: { status: "error", content: GOES_ON } };
        signal.throwIfAborted();
        const record = await records.find({ tenantId, userId }, turnId);
        if (!record) throw new AppError("turn_superseded", "The conversation or this message was deleted while this turn was answering.");
        if (record.outcome || !record.isHeld) return replayRecord(record);
        await sleep(pause, undefined, { signal: over }).catch(() => undefined);
      }
    } catch (error) {
      return { told: [], last: { status: "error", content: toAppError(error).toContent() } };
    }
  }

  return {
    turnId,
    accepted: Promise.resolve({ turnId }),
    waits: true,
    told: Promise.resolve(turnId),
    eventBatches: (signal) => together(atItsEnd(signal)),
    last: async (signal) => (await atItsEnd(signal)).last,
  };
}
