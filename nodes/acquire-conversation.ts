import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { OnBusy } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { abortable } from "../models/deadlines.ts";
import { ReplyLost } from "../stores/postgres/database/storage-errors.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { retryWhileStorageIsAway } from "./turn-lease.ts";
import type { BeginTurn, BegunTurn } from "../stores/postgres/conversations/begin-turn.ts";

/** Milliseconds between two attempts at a busy conversation: the first pause, which grows by half, and the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** Milliseconds that a client waits while a begin whose reply was lost is looked up. */
const LOOKUP_MS = 5_000;

/** Undoes a turn that was refused: its message goes, or with a key, the turn is stored as failed and can be tried again. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const held = { tenantId: turn.tenantId, userId: turn.userId, conversationId: begun.conversationId, turnId: turn.turnId };
  if (!turn.key) return retryWhileStorageIsAway(() => turns.takeBack(held));
  const outcome = failedTurnOutcome(refusal.toContent(), undefined);
  await retryWhileStorageIsAway(() => turns.finish(held, null, [], outcome));
}

/**
 * Begins the turn. After a lost reply it looks up what Postgres has stored, and that counts. While Postgres stays away the turn is refused, and what
 * was stored is undone later.
 */
async function begin(turns: TurnStore, turn: BeginTurn): Promise<BegunTurn | null> {
  try {
    return await turns.begin(turn);
  } catch (refusal) {
    if (!(refusal instanceof ReplyLost)) throw refusal;
    const lookup = retryWhileStorageIsAway(() => turns.findBegun(turn));
    const inTime = AbortSignal.timeout(LOOKUP_MS);
    const begun = await abortable(() => lookup, inTime).catch(() => null);
    if (begun) return begun;
    if (inTime.aborted) lookup.then((late) => undo(turns, turn, late, refusal)).catch(() => undefined);
    throw refusal;
  }
}

/** Begins the turn when the conversation is free. Throws the signal's reason when it aborts before. */
async function beginWhenFree(turns: TurnStore, turn: BeginTurn, signal: AbortSignal | undefined): Promise<BegunTurn> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = await begin(turns, turn);
    if (begun) return begun;
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. When another turn holds it, `enqueue` waits behind earlier turns of this
 * process, and `refuse` throws AppError `conversation_busy`. Throws `storage_unavailable` when Postgres is away.
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

/** A queue for each key, within this process: first come, first served. */
export interface KeyedQueue {
  /** Runs `attempt` when all earlier ones of the same key have ended. Throws the signal's reason when it aborts while waiting. */
  run<Result>(key: string, attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

export function makeKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<void>>();
  return {
    async run(key, attempt, signal) {
      const before = last.get(key);
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      last.set(key, ended);
      try {
        if (before) await abortable(() => before, signal);
        return await attempt();
      } finally {
        // An attempt that gave up lets the next one start only after all earlier ones have ended.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === ended) last.delete(key);
          end();
        });
      }
    },
  };
}
