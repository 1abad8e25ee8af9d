import { setTimeout as sleep } from "node:timers/promises";
import { toldAgain } from "../../agents/loop/told-again.ts";
import { AppError, toAppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn, SentBefore } from "../../graph/start-turn.ts";
import { shownArguments } from "../../text/tool-arguments.ts";
import { ASSISTANT } from "../../turn/agent.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { GOES_ON_ELSEWHERE, toTurnResult, turnDeleted, type TurnOutcome } from "../../turn/outcome.ts";
import type { StepStore } from "../../stores/postgres/agents/step-store.ts";
import type { TurnRecord, TurnRecordStore } from "../../stores/postgres/turns/turn-record-store.ts";

/** The events of a turn: of this process, of its stored outcome, or of another process. */
export interface TurnSource {
  turnId: string;
  /** The id of the turn that answers; rejects with an AppError when it was refused. */
  accepted: Promise<string>;
  /** Its first event may come late. */
  waits: boolean;
  /** Set where another turn may answer: its id. Never rejects. */
  streamedTurnId?: Promise<string>;
  /** What was sent before the first event; known when that comes. */
  before?: () => SentBefore | undefined;
  /** `signal` aborts when the reader has left. */
  eventBatches(signal: AbortSignal): AsyncIterable<TurnEvent[]>;
  last(signal: AbortSignal): Promise<LastEvent>;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

export const INTERRUPTED = new AppError(
  "turn_interrupted",
  "The process that answered this message died. Send the same message again, with the same Idempotency-Key if it had one.",
).toContent();

export function storedOutcome({ outcome }: TurnRecord): TurnOutcome | null {
  return outcome as TurnOutcome | null;
}

export function turnGone(turnId: string): AppError {
  return new AppError("turn_gone", `The outcome of turn ${turnId} is no longer kept. Its messages are in the conversation.`);
}

interface Replay {
  events: TurnEvent[];
  last: LastEvent;
  before?: SentBefore;
}

/** Where ended turns, and those of other processes, are read. */
export interface StoredTurns {
  turns: Pick<TurnRecordStore, "find">;
  steps: Pick<StepStore, "list">;
}

const MOST_STEPS = 200;

/** The answer is one token, or the calls that stand for it. */
async function replayRecord({ steps }: StoredTurns, record: TurnRecord): Promise<Replay> {
  const outcome = storedOutcome(record);
  const { id: turn_id, conversationId: conversation_id, question } = record;
  const told = outcome && !outcome.tool_calls ? [] : toldAgain(await steps.list(record, turn_id, { after: 0, limit: MOST_STEPS }));
  if (question) return { events: told, last: { status: "waiting", content: { turn_id, conversation_id, question } } };
  if (!outcome) return { events: told, last: { status: "error", content: INTERRUPTED } };
  const { calls = [], agent = ASSISTANT } = outcome;
  const answer = record.answer?.slice(outcome.continues_at ?? 0) ?? null;
  const events: TurnEvent[] = [
    ...(outcome.route_decision ? [{ status: "route_decision" as const, content: outcome.route_decision }] : []),
    ...outcome.notices.map((content) => ({ status: "notice" as const, content })),
    ...told,
    ...calls.map((call) => {
      return {
        status: "tool_call" as const,
        content: { call_id: call.id, agent, path: [agent], name: call.name, arguments: shownArguments(call) },
      };
    }),
    ...(answer && calls.length === 0 ? [{ status: "token" as const, content: answer }] : []),
  ];
  const before = { characters: outcome.said_before ?? 0, legs: 0 };
  const result = toTurnResult(outcome, { ...record, answer });
  if (result) return { events, before, last: { status: "done", content: result } };
  return { events, before, last: { status: "error", content: outcome.error ?? INTERRUPTED } };
}

type Replayed = Pick<TurnSource, "turnId" | "accepted" | "waits">;

/** All events come in one batch. */
function replaySource(replayed: Replayed, replay: (signal: AbortSignal) => Promise<Replay>): TurnSource {
  let before: SentBefore | undefined;
  return {
    ...replayed,
    before: () => before,
    async *eventBatches(signal) {
      const replayed = await replay(signal);
      before = replayed.before;
      yield [...replayed.events, replayed.last];
    },
    last: async (signal) => (await replay(signal)).last,
  };
}

/** `waits`: it stands in line for a busy conversation. */
export function localSource(turn: RunningTurn, waits: boolean): TurnSource {
  const { turnId } = turn;
  const accepted = turn.accepted.then(() => turnId);
  accepted.catch(() => undefined); // its events end with the same error
  return { turnId, accepted, waits, before: () => turn.before, eventBatches: () => turn.eventBatches(), last: () => turn.ended };
}

/** A turn that is over, in any process, or waits for an answer. */
export function storedSource(stored: StoredTurns, record: TurnRecord): TurnSource {
  const { id: turnId } = record;
  return replaySource({ turnId, accepted: Promise.resolve(turnId), waits: false }, () => replayRecord(stored, record));
}

/** A turn that waited in line and was then refused. */
export function refusedSource(turnId: string, error: AppError): TurnSource {
  const accepted = Promise.reject(error);
  accepted.catch(() => undefined); // its events end with the same error
  const last: LastEvent = { status: "error", content: error.toContent() };
  return replaySource({ turnId, accepted, waits: false }, () => Promise.resolve({ events: [], last }));
}

/** Its events come when it has ended, or its lease has run out. */
export function remoteSource(stored: StoredTurns, found: TurnRecord, stopping: AbortSignal): TurnSource {
  const { id: turnId, tenantId, userId } = found;

  async function waitForEnd(signal: AbortSignal): Promise<Replay> {
    const over = AbortSignal.any([signal, stopping]);
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
        if (stopping.aborted) return { events: [], last: { status: "error", content: GOES_ON_ELSEWHERE } };
        signal.throwIfAborted();
        const record = await stored.turns.find({ tenantId, userId }, turnId);
        if (!record) throw turnDeleted();
        if (record.outcome || record.question || !record.isHeld) return await replayRecord(stored, record);
        await sleep(pause, undefined, { signal: over }).catch(() => undefined);
      }
    } catch (error) {
      return { events: [], last: { status: "error", content: toAppError(error).toContent() } };
    }
  }

  return replaySource({ turnId, accepted: Promise.resolve(turnId), waits: true }, waitForEnd);
}
