import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import type { LastEvent, RunningTurn } from "../../graph/start-turn.ts";
import type { Owner } from "../../stores/owner.ts";

/** How long cancelled turns get to store what they have, in milliseconds. */
const LAST_WRITES_MS = 5_000;

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
  /** The turn that answers in its place: this one waited in line and found its Idempotency-Key taken. */
  redirectedTo: string | null;
}

/** How much of turns that have ended stays in memory. Later they are answered from their stored outcome. */
export interface RegistryLimits {
  /** Milliseconds after the end. */
  keptMs: number;
  turns: number;
  /** Estimated. */
  bytes: number;
}

const DEFAULT_LIMITS: RegistryLimits = { keptMs: 60_000, turns: 1_000, bytes: 32 * 1024 * 1024 };

/** The turns of this process: all that run, and for a short while those that have ended. */
export interface TurnRegistry {
  /** Throws AppError `shutting_down` once `drain` was called. */
  assertOpen(): void;
  add(turn: RunningTurn, owner: Owner): void;
  /** Null when it does not run here, or ended too long ago. */
  find(turnId: string): RegisteredTurn | null;
  /** Answers whoever asks for a turn with another one. */
  redirect(turnId: string, to: string): void;
  /** Counts the client behind `response` as a reader. With `cancels`, the turn is stopped when the last reader leaves before its end. */
  attach(turnId: string, response: ServerResponse, options: { cancels: boolean }): void;
  /** Aborts with AppError `shutting_down` when the service stops. */
  stopping: AbortSignal;
  /** Lets no new turn in, gives the running ones `graceMs` to finish, then cancels them; what there is of their answers is kept. */
  drain(graceMs: number): Promise<void>;
}

/** What one event takes beside its text. */
const BYTES_PER_EVENT = 150;

async function estimateBytes(turn: RunningTurn): Promise<number> {
  let bytes = 0;
  for await (const { status, content } of turn.events()) {
    if (status === "token") bytes += 2 * content.length;
    if (status === "done") bytes += 2 * content.answer.length + BYTES_PER_EVENT * 10;
    bytes += BYTES_PER_EVENT;
  }
  return bytes;
}

export function makeTurnRegistry(limits: RegistryLimits = DEFAULT_LIMITS): TurnRegistry {
  const turns = new Map<string, RegisteredTurn>();
  /** The size of each turn that has ended, in the order in which they did. */
  const endedBytes = new Map<string, number>();
  let allBytes = 0;
  const stopping = new AbortController();

  const running = (): RunningTurn[] => [...turns.values()].filter(({ last }) => last === null).map(({ turn }) => turn);
  const allEnded = (): Promise<unknown> => Promise.all(running().map(({ ended }) => ended));
  const shuttingDown = (): AppError => new AppError("shutting_down", "The service is stopping. Send the message again in a few seconds.");

  function forget(turnId: string): void {
    allBytes -= endedBytes.get(turnId) ?? 0;
    endedBytes.delete(turnId);
    turns.delete(turnId);
  }

  /** Turns that run stay whatever they take; of those that have ended the oldest go first when there are too many. */
  async function keepUntilForgotten(entry: RegisteredTurn): Promise<void> {
    const { turnId, ended } = entry.turn;
    entry.last = await ended;
    const bytes = await estimateBytes(entry.turn);
    endedBytes.set(turnId, bytes);
    allBytes += bytes;
    setTimeout(() => forget(turnId), limits.keptMs).unref();
    for (const oldest of endedBytes.keys()) {
      if (endedBytes.size <= limits.turns && allBytes <= limits.bytes) return;
      forget(oldest);
    }
  }

  return {
    assertOpen() {
      if (stopping.signal.aborted) throw shuttingDown();
    },
    add(turn, owner) {
      const entry: RegisteredTurn = { owner, turn, isAccepted: false, last: null, readers: 0, redirectedTo: null };
      turns.set(turn.turnId, entry);
      turn.accepted.then(
        () => (entry.isAccepted = true),
        () => undefined,
      );
      void keepUntilForgotten(entry);
    },
    find: (turnId) => turns.get(turnId) ?? null,
    redirect(turnId, to) {
      const entry = turns.get(turnId);
      if (entry) entry.redirectedTo = to;
    },
    attach(turnId, response, { cancels }) {
      const entry = turns.get(turnId);
      if (!entry) return;
      entry.readers++;
      const leave = (): void => {
        entry.readers--;
        if (!cancels || response.writableFinished || entry.readers > 0) return;
        entry.turn.cancel(new AppError("turn_cancelled", "The client left before the end of the answer."));
      };
      // The request of a POST closes as soon as its body is read; only the response tells that the client left.
      if (response.closed)
        setImmediate(leave); // after those that attach in the same moment
      else response.once("close", leave);
    },
    stopping: stopping.signal,
    async drain(graceMs) {
      stopping.abort(shuttingDown());
      await Promise.race([allEnded(), sleep(graceMs, undefined, { ref: false })]);
      for (const turn of running()) turn.cancel(shuttingDown());
      await Promise.race([allEnded(), sleep(LAST_WRITES_MS, undefined, { ref: false })]);
    },
  };
}
