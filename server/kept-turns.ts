import type { LastEvent, RunningTurn } from "../graph/start-turn.ts";
import type { Owner } from "../stores/owner.ts";

/** A turn of this process, while it runs and for a while after. */
export interface KeptTurn {
  owner: Owner;
  turn: RunningTurn;
  /** It holds, or held, its conversation. */
  isAccepted: boolean;
  /** Null while it runs. */
  last: LastEvent | null;
  /** Clients that are being sent its events or wait for its end. */
  readers: number;
  /** It was not let in because another turn had its key; that one is told in its place. */
  instead: string | null;
}

/** How much of turns that have ended stays in memory; what is gone from it is answered from the stored outcome. */
export interface KeepingLimits {
  /** Milliseconds after the end. */
  keptMs: number;
  turns: number;
  /** Estimated. */
  bytes: number;
}

export const KEEPING_LIMITS: KeepingLimits = { keptMs: 60_000, turns: 1_000, bytes: 32 * 1024 * 1024 };

/** An event beside its text: objects, and its place in the log. */
const BYTES_PER_EVENT = 150;

/** The turns of this process that can be told from memory. */
export interface KeptTurns {
  add(kept: KeptTurn): void;
  find(turnId: string): KeptTurn | null;
}

async function bytesOf(turn: RunningTurn): Promise<number> {
  let bytes = 0;
  for await (const { status, content } of turn.events()) {
    if (status === "token") bytes += 2 * content.length;
    if (status === "done") bytes += 2 * content.answer.length + BYTES_PER_EVENT * 10;
    bytes += BYTES_PER_EVENT;
  }
  return bytes;
}

/** Running turns are kept whatever they take; of those that have ended the oldest go first when there are too many. */
export function makeKeptTurns({ keptMs, turns: most, bytes: mostBytes }: KeepingLimits = KEEPING_LIMITS): KeptTurns {
  const kept = new Map<string, KeptTurn>();
  const ended = new Map<string, number>();
  let bytes = 0;

  function drop(turnId: string): void {
    bytes -= ended.get(turnId) ?? 0;
    ended.delete(turnId);
    kept.delete(turnId);
  }

  async function keepForAWhile(entry: KeptTurn): Promise<void> {
    const { turnId } = entry.turn;
    entry.last = await entry.turn.ended;
    const size = await bytesOf(entry.turn);
    ended.set(turnId, size);
    bytes += size;
    setTimeout(() => drop(turnId), keptMs).unref();
    for (const oldest of ended.keys()) {
      if (ended.size <= most && bytes <= mostBytes) return;
      drop(oldest);
    }
  }

  return {
    add(entry) {
      kept.set(entry.turn.turnId, entry);
      entry.turn.accepted.then(
        () => (entry.isAccepted = true),
        () => undefined,
      );
      void keepForAWhile(entry);
    },
    find: (turnId) => kept.get(turnId) ?? null,
  };
}
