import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { OnBusy } from "../graph/turn-context.ts";
import { outcomeOfFailure } from "../graph/turn-outcome.ts";
import { orAborted } from "../models/or-aborted.ts";
import { ReplyLost } from "../stores/postgres/storage-error.ts";
import type { BeginTurn, BegunTurn, TurnStore } from "../stores/postgres/turn-store.ts";
import type { WaitingLine } from "./waiting-line.ts";
import { whileStorageIsAway } from "./while-storage-is-away.ts";

/** Pauses between two looks at a busy conversation, in milliseconds: from the first, growing by half, to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** How long a client waits to hear what became of a begin whose reply was lost, in milliseconds. */
const LOOK_MS = 5_000;

/** Once Postgres is back, a turn that was refused is none: nothing of its message stays, or its key leads to another attempt. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const held = { tenantId: turn.tenantId, userId: turn.userId, conversationId: begun.conversationId, turnId: turn.turnId };
  if (!turn.key) return whileStorageIsAway(() => turns.takeBack(held));
  const outcome = outcomeOfFailure(refusal.toContent(), undefined);
  await whileStorageIsAway(() => turns.finish(held, null, [], outcome));
}

/**
 * Begins the turn. When the reply of Postgres was lost, it is asked again what it did, and what it stored counts. When it stays away, the turn is
 * refused, and whatever was stored is undone when it is back.
 */
async function begin(turns: TurnStore, turn: BeginTurn): Promise<BegunTurn | null> {
  try {
    return await turns.begin(turn);
  } catch (refusal) {
    if (!(refusal instanceof ReplyLost)) throw refusal;
    const looking = whileStorageIsAway(() => turns.findBegun(turn));
    const inTime = AbortSignal.timeout(LOOK_MS);
    const begun = await orAborted(() => looking, inTime).catch(() => null);
    if (begun) return begun;
    if (inTime.aborted) looking.then((late) => undo(turns, turn, late, refusal)).catch(() => undefined);
    throw refusal;
  }
}

/** Waits until the turn that holds the conversation is over. Throws the signal's reason when it is aborted before. */
async function beginWhenFree(turns: TurnStore, turn: BeginTurn, signal: AbortSignal | undefined): Promise<BegunTurn> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = await begin(turns, turn);
    if (begun) return begun;
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. Throws AppError `conversation_busy` when another turn holds it,
 * unless `onBusy` is `enqueue`: then it waits, behind those of this process that came earlier. Throws `storage_unavailable` when nothing is
 * stored; what Postgres may hold of it while it is away is undone when it is back.
 */
export async function beginTurn(
  { turns, line }: { turns: TurnStore; line: WaitingLine },
  turn: BeginTurn,
  { onBusy, signal }: { onBusy: OnBusy; signal: AbortSignal | undefined },
): Promise<BegunTurn> {
  if (onBusy === "enqueue") {
    return line.inTurn(JSON.stringify([turn.tenantId, turn.userId, turn.sessionId]), () => beginWhenFree(turns, turn, signal), signal);
  }
  const begun = await begin(turns, turn);
  if (begun) return begun;
  throw new AppError(
    "conversation_busy",
    `The conversation of session_id "${turn.sessionId}" is still answering an earlier message. Wait for its end, or send "on_busy": "enqueue" to wait in line.`,
  );
}
