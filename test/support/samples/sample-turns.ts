import { v7 as uuidv7 } from "uuid";
import type { AnswerToStore } from "../../../stores/postgres/turns/recover-turn.ts";
import type { TurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import type { BeginTurn, BegunTurn } from "../../../stores/postgres/turns/recover-turn.ts";

export const LONG_LEASE_MS = 60_000;
export const EXPIRED_LEASE_MS = -1_000;

/** A turn to begin, in a session of its own unless `fields` say otherwise. */
export function sampleTurn(fields: Partial<BeginTurn> = {}): BeginTurn {
  return {
    tenantId: "tenant",
    userId: "user",
    sessionId: uuidv7(),
    turnId: uuidv7(),
    leaseMs: LONG_LEASE_MS,
    message: "a question",
    tokenCount: 3,
    ...fields,
  };
}

/** A complete answer unless `fields` say otherwise. */
export function sampleAnswer(fields: Partial<AnswerToStore> = {}): AnswerToStore {
  return { messageId: uuidv7(), content: "an answer", completed: true, tokenCount: 2, metadata: {}, ...fields };
}

export async function beginFreely(turns: TurnStore, turn: BeginTurn): Promise<BegunTurn & BeginTurn> {
  const begun = await turns.begin(turn);
  if (!begun) throw new Error(`the conversation of session "${turn.sessionId}" is busy`);
  return { ...turn, ...begun };
}

/** Begins a turn and stores its answer; null stores none. */
export async function completeTurn(
  turns: TurnStore,
  turn: BeginTurn,
  answer: AnswerToStore | null = sampleAnswer(),
): Promise<BegunTurn & BeginTurn> {
  const begun = await beginFreely(turns, turn);
  await turns.finish(begun, answer);
  return begun;
}
