import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { RunningTurn } from "../graph/start-turn.ts";
import type { Owner } from "../stores/owner.ts";
import { makeKeptTurns, type KeepingLimits, type KeptTurn } from "./kept-turns.ts";

/** How long cancelled turns get to store what they have, in milliseconds. */
const LAST_WORDS_MS = 5_000;

/** The turns of this process: those under way, and for a short while those that have ended. */
export interface RunningTurns {
  /** Throws AppError `shutting_down` once `drain` was called. */
  assertOpen(): void;
  add(turn: RunningTurn, owner: Owner): void;
  /** Null when it does not run here, or ended too long ago. */
  find(turnId: string): KeptTurn | null;
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

export function makeRunningTurns(limits?: KeepingLimits): RunningTurns {
  const running = new Set<RunningTurn>();
  const kept = makeKeptTurns(limits);
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
