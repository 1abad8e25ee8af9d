import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { OnBusy } from "../turn/context.ts";
import { failedTurnOutcome } from "../turn/outcome.ts";
import { abortable } from "../models/deadlines.ts";
import { ReplyLost } from "../stores/postgres/database/storage-errors.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { retryWhileUnreachable } from "./turn-lease.ts";
import type { BeginTurn, BegunTurn } from "../stores/postgres/conversations/begin-turn.ts";

/** Pauses between two attempts at a busy conversation, each longer by half. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** How long a client waits while a begin whose reply was lost is looked up. */
const LOOKUP_MS = 5_000;

/** Undoes a refused turn: removes its message, or with a key stores the turn as failed, so that it can be tried again. */
async function undo(turns: TurnStore, turn: BeginTurn, begun: BegunTurn | null, refusal: ReplyLost): Promise<void> {
  if (!begun) return;
  const { tenantId, userId, turnId } = turn;
  const held = { tenantId, userId, turnId, conversationId: begun.conversationId };
  if (!turn.key) return retryWhileUnreachable(() => turns.takeBack(held));
  const outcome = failedTurnOutcome(refusal.toContent(), undefined);
  await retryWhileUnreachable(() => turns.finish(held, null, [], outcome));
}

/** Begins the turn. After a lost reply what Postgres has stored counts; if Postgres stays unreachable the turn is refused, and undone later. */
async function begin(turns: TurnStore, turn: BeginTurn): Promise<BegunTurn | null> {
  try {
    return await turns.begin(turn);
  } catch (refusal) {
    if (!(refusal instanceof ReplyLost)) throw refusal;
    const lookup = retryWhileUnreachable(() => turns.findBegun(turn));
    const inTime = AbortSignal.timeout(LOOKUP_MS);
    const begun = await abortable(() => lookup, inTime).catch(() => null);
    if (begun) return begun;
    if (inTime.aborted) lookup.then((late) => undo(turns, turn, late, refusal)).catch(() => undefined);
    throw refusal;
  }
}

async function beginWhenFree(turns: TurnStore, turn: BeginTurn, signal: AbortSignal | undefined): Promise<BegunTurn> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const begun = await begin(turns, turn);
    if (begun) return begun;
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Takes the conversation for this turn and stores the user's message. When another turn holds it, `enqueue` waits in line, and `refuse` throws
 * AppError `conversation_busy`. Throws `storage_unavailable` when Postgres is unreachable.
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
  const problem = `The conversation of session_id "${turn.sessionId}" is still answering an earlier message.`;
  throw new AppError("conversation_busy", `${problem} Wait for its end, or send "on_busy": "enqueue" to wait in line.`);
}

/** A queue for each key, within this process: first come, first served. */
export interface KeyedQueue {
  /** Runs `attempt` when all earlier ones of the key have ended. Throws the signal's reason when it aborts before. */
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
        // Behind an attempt that gave up, the next one still waits for all earlier ones.
        void Promise.resolve(before).then(() => {
          if (last.get(key) === ended) last.delete(key);
          end();
        });
      }
    },
  };
}
