import { availableParallelism } from "node:os";
import { AppError } from "../../errors/app-error.ts";
import type { Slots } from "./slots.ts";

/** Milliseconds between two looks at the clock. */
const LOOK_EVERY_MS = 100;
/** How many looks the lag is told of. */
const LOOKS = 10;

/** How late the event loop of this process is. */
export interface EventLoopLag {
  /** The least of the last second, in milliseconds: what every event waits at present. One long piece of work alone is not in it. */
  milliseconds(): number;
  close(): void;
}

/** Looks how much later than it should a timer fires. That the least counts is how CoDel tells a standing queue from a burst: RFC 8289. */
export function watchEventLoop(): EventLoopLag {
  const lags: number[] = [];
  let due = performance.now() + LOOK_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - due));
    if (lags.length > LOOKS) lags.shift();
    due = now + LOOK_EVERY_MS;
  }, LOOK_EVERY_MS).unref();
  return {
    milliseconds: () => (lags.length < LOOKS ? 0 : Math.min(...lags)),
    close: () => clearInterval(timer),
  };
}

/** Turns at once that one process carries with one core; a second one takes what is done beside its event loop, and more are of no use to it. */
const TURNS_PER_CORE = 256;
const USEFUL_CORES = 2;
/** An event loop that is later than this, in milliseconds, carries no more than it has. */
const LATEST_MS = 1_000;
/** What a client waits before it tries again, in seconds. */
const RETRY_AFTER_SECONDS = 2;

/** Why a turn was refused: `full`, there are as many as may be; `late`, the event loop does not keep up with them. */
export type Overload = "full" | "late";

export interface AdmissionParts {
  /** Turns at once in this process; 0: any number. Default: by the cores. */
  mostTurns: number | undefined;
  lag: Pick<EventLoopLag, "milliseconds">;
  onRefused: (why: Overload) => void;
}

/** What lets turns, and the front ends' own tasks, into this process, running or waiting in line. */
export interface Admission {
  /** Takes a place until the returned function is called. Throws AppError `overloaded`. */
  enter(): () => void;
}

const OVERLOADED: Readonly<Record<Overload, string>> = {
  full: "This process has as many turns as it can answer; MAX_TURNS_PER_PROCESS sets the limit.",
  late: "This process is late with the turns it has.",
};

export function makeAdmission({
  mostTurns = TURNS_PER_CORE * Math.min(availableParallelism(), USEFUL_CORES),
  lag,
  onRefused,
}: AdmissionParts): Admission {
  let inside = 0;
  function refuse(why: Overload): never {
    onRefused(why);
    throw new AppError("overloaded", `${OVERLOADED[why]} Nothing was stored. Send it again in ${RETRY_AFTER_SECONDS} s.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  return {
    enter() {
      if (mostTurns > 0 && inside >= mostTurns) refuse("full");
      if (lag.milliseconds() > LATEST_MS) refuse("late");
      inside++;
      let isInside = true;
      return () => {
        if (isInside) inside--;
        isInside = false;
      };
    },
  };
}

/** The same slots, each with a place in the process. */
export function withAdmission(slots: Slots, admission: Admission): Slots {
  return {
    take(owner) {
      const free = slots.take(owner);
      try {
        const leave = admission.enter();
        return () => {
          leave();
          free();
        };
      } catch (error) {
        free();
        throw error;
      }
    },
  };
}
