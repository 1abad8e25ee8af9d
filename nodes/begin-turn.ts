import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { OnBusy } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { abortable } from "../models/deadlines.ts";
import { ReplyLost } from "../stores/postgres/database/storage-errors.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { retryWhileStorageIsAway } from "./hold-turn.ts";
import type { BeginTurn, BegunTurn } from "../stores/postgres/conversations/begin-turn.ts";

/** Pauses between two looks at a busy conversation, in milliseconds: from the first, growing by half, to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** How long a client waits to hear what became of a begin whose reply was lost, in milliseconds. */
const LOOK_MS = 5_000;

/** Once Postgres is back, a turn that was refused is none: nothing of its message stays, or its key leads to another attempt. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const held = { tenantId: turn.tenantId, userId: turn.userId, conversationId: begun.conversationId, turnId: turn.turnId };
  if (!turn.key) return retryWhileStorageIsAway(() => turns.takeBack(held));
  const outcome = failedTurnOutcome(refusal.toContent(), undefined);
  await retryWhileStorageIsAway(() => turns.finish(held, null, [], outcome));
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
    const looking = retryWhileStorageIsAway(() => turns.findBegun(turn));
    const inTime = AbortSignal.timeout(LOOK_MS);
    const begun = await abortable(() => looking, inTime).catch(() => null);
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
  { turns, line }: { turns: TurnStore; line: KeyedQueue },
  turn: BeginTurn,
  { onBusy, signal }: { onBusy: OnBusy; signal: AbortSignal | undefined },
): Promise<BegunTurn> {
  if (onBusy === "enqueue") {
    return line.run(JSON.stringify([turn.tenantId, turn.userId, turn.sessionId]), () => beginWhenFree(turns, turn, signal), signal);
  }
  const begun = await begin(turns, turn);
  if (begun) return begun;
  throw new AppError(
    "conversation_busy",
    `The conversation of session_id "${turn.sessionId}" is still answering an earlier message. Wait for its end, or send "on_busy": "enqueue" to wait in line.`,
  );
}

/** First come, first served, per key, within this process. */
export interface KeyedQueue {
  /**
   * Runs `attempt` when everyone who came earlier for the same key is through. Throws the signal's reason when it aborts while waiting;
   * those behind keep their order.
   */
  run<Result>(key: string, attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

export function makeKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<void>>();
  return {
    async run(key, attempt, signal) {
      const before = last.get(key);
      const { promise: through, resolve: leave } = Promise.withResolvers<void>();
      last.set(key, through);
      try {
        if (before) await abortable(() => before, signal);
        return await attempt();
      } finally {
        // Whoever gave up does not let those behind pass the ones before.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === through) last.delete(key);
          leave();
        });
      }
    },
  };
}
