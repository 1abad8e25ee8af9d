import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { OnBusy } from "../graph/turn-context.ts";
import type { BeginTurn, BegunTurn, TurnStore } from "../stores/postgres/turn-store.ts";
import type { WaitingLine } from "./waiting-line.ts";

/** Pauses between two looks at a busy conversation, in milliseconds: from the first, growing by half, to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Waits until the turn that holds the conversation is over. Throws the signal's reason when it is aborted before. */
async function beginWhenFree(turns: TurnStore, turn: BeginTurn, signal: AbortSignal | undefined): Promise<BegunTurn> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = await turns.begin(turn);
    if (begun) return begun;
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. Throws AppError `conversation_busy` when another turn holds it,
 * unless `onBusy` is `enqueue`: then it waits, behind those of this process that came earlier.
 */
export async function beginTurn(
  { turns, line }: { turns: TurnStore; line: WaitingLine },
  turn: BeginTurn,
  { onBusy, signal }: { onBusy: OnBusy; signal: AbortSignal | undefined },
): Promise<BegunTurn> {
  if (onBusy === "enqueue") {
    return line.inTurn(JSON.stringify([turn.tenantId, turn.userId, turn.sessionId]), () => beginWhenFree(turns, turn, signal), signal);
  }
  const begun = await turns.begin(turn);
  if (begun) return begun;
  throw new AppError(
    "conversation_busy",
    `The conversation of session_id "${turn.sessionId}" is still answering an earlier message. Wait for its end, or send "on_busy": "enqueue" to wait in line.`,
  );
}
