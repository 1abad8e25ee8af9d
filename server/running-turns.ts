import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import type { RunningTurn } from "../graph/start-turn.ts";

/** How long cancelled turns get to store what they have, in milliseconds. */
const LAST_WORDS_MS = 5_000;

/** The turns of this process that are under way. */
export interface RunningTurns {
  /** Throws AppError `shutting_down` once `drain` was called. */
  assertOpen(): void;
  add(turn: RunningTurn): void;
  /** Lets no new turn in, gives the running ones `graceMs` to finish, then cancels them and keeps what there is of their answers. */
  drain(graceMs: number): Promise<void>;
}

export function makeRunningTurns(): RunningTurns {
  const running = new Set<RunningTurn>();
  let closing = false;
  const allEnded = (): Promise<unknown> => Promise.all([...running].map((turn) => turn.ended));
  const shuttingDown = (): AppError => new AppError("shutting_down", "The service is stopping. Send the message again in a few seconds.");
  return {
    assertOpen() {
      if (closing) throw shuttingDown();
    },
    add(turn) {
      running.add(turn);
      void turn.ended.then(() => running.delete(turn));
    },
    async drain(graceMs) {
      closing = true;
      await Promise.race([allEnded(), sleep(graceMs, undefined, { ref: false })]);
      for (const turn of running) turn.cancel(shuttingDown());
      await Promise.race([allEnded(), sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    },
  };
}
