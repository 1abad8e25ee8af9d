import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { Owner } from "../../stores/owner.ts";

/** A turn of this process, while it runs and for a while after. */
export interface RegisteredTurn {
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
export interface CacheLimits {
  /** Milliseconds after the end. */
  keptMs: number;
  turns: number;
  /** Estimated. */
  bytes: number;
}

export const CACHE_LIMITS: CacheLimits = { keptMs: 60_000, turns: 1_000, bytes: 32 * 1024 * 1024 };

/** An event beside its text: objects, and its place in the log. */
const BYTES_PER_EVENT = 150;

/** The turns of this process that can be told from memory. */
export interface TurnCache {
  add(kept: RegisteredTurn): void;
  find(turnId: string): RegisteredTurn | null;
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
export function makeTurnCache({ keptMs, turns: most, bytes: mostBytes }: CacheLimits = CACHE_LIMITS): TurnCache {
  const kept = new Map<string, RegisteredTurn>();
  const ended = new Map<string, number>();
  let bytes = 0;

  function drop(turnId: string): void {
    bytes -= ended.get(turnId) ?? 0;
    ended.delete(turnId);
    kept.delete(turnId);
  }

  async function keepForAWhile(entry: RegisteredTurn): Promise<void> {
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

/** How long cancelled turns get to store what they have, in milliseconds. */
const LAST_WORDS_MS = 5_000;

/** The turns of this process: those under way, and for a short while those that have ended. */
export interface TurnRegistry {
  /** Throws AppError `shutting_down` once `drain` was called. */
  assertOpen(): void;
  add(turn: RunningTurn, owner: Owner): void;
  /** Null when it does not run here, or ended too long ago. */
  find(turnId: string): RegisteredTurn | null;
  /** Has another turn told to whoever asks for one that waited in line and found its key taken. */
  tellInstead(turnId: string, instead: string): void;
  /**
   * Counts the client behind `response` among those who want this turn. With `cancels`, the turn is stopped when it leaves before the end
   * of its answer, unless others are still there.
   */
  attach(turnId: string, response: ServerResponse, options: { cancels: boolean }): void;
  /** Aborts with AppError `shutting_down` when the service stops. */
  stopping: AbortSignal;
  /** Lets no new turn in, gives the running ones `graceMs` to finish, then cancels them and keeps what there is of their answers. */
  drain(graceMs: number): Promise<void>;
}

export function makeTurnRegistry(limits?: CacheLimits): TurnRegistry {
  const running = new Set<RunningTurn>();
  const kept = makeTurnCache(limits);
  const stopping = new AbortController();
  const allEnded = (): Promise<unknown> => Promise.all([...running].map((turn) => turn.ended));
  const shuttingDown = (): AppError => new AppError("shutting_down", "The service is stopping. Send the message again in a few seconds.");
  return {
    assertOpen() {
      if (stopping.signal.aborted) throw shuttingDown();
    },
    add(turn, owner) {
      running.add(turn);
      void turn.ended.then(() => running.delete(turn));
      kept.add({ owner, turn, isAccepted: false, last: null, readers: 0, instead: null });
    },
    find: (turnId) => kept.find(turnId),
    tellInstead(turnId, instead) {
      const entry = kept.find(turnId);
      if (entry) entry.instead = instead;
    },
    attach(turnId, response, { cancels }) {
      const entry = kept.find(turnId);
      if (!entry) return;
      entry.readers++;
      const leave = (): void => {
        entry.readers--;
        if (!cancels || response.writableFinished || entry.readers > 0) return;
        entry.turn.cancel(new AppError("turn_cancelled", "The client left before the end of the answer."));
      };
      // On a POST the request's own 'close' comes as soon as its body is read; the response's tells that the client left.
      if (response.closed)
        setImmediate(leave); // behind those who come to it at the same moment
      else response.once("close", leave);
    },
    stopping: stopping.signal,
    async drain(graceMs) {
      stopping.abort(shuttingDown());
      await Promise.race([allEnded(), sleep(graceMs, undefined, { ref: false })]);
      for (const turn of running) turn.cancel(shuttingDown());
      await Promise.race([allEnded(), sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    },
  };
}
