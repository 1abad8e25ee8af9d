import { availableParallelism } from "node:os";
import { AppError } from "../../errors/app-error.ts";
import type { Slots } from "./owner-slots.ts";

/** Milliseconds between two samples. */
const SAMPLE_EVERY_MS = 100;
/** Samples that count: those of the last second. */
const SAMPLES = 10;

/** How late the event loop of this process is. */
export interface EventLoopLag {
  /** The least lag of the last second, in milliseconds. One long piece of work alone does not raise it. */
  milliseconds(): number;
  close(): void;
}

/** Measures how late a timer fires. The minimum tells a standing queue from a burst, as in CoDel: RFC 8289. */
export function watchEventLoop(): EventLoopLag {
  const lags: number[] = [];
  let due = performance.now() + SAMPLE_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - due));
    if (lags.length > SAMPLES) lags.shift();
    due = now + SAMPLE_EVERY_MS;
  }, SAMPLE_EVERY_MS).unref();
  return {
    milliseconds: () => (lags.length < SAMPLES ? 0 : Math.min(...lags)),
    close: () => clearInterval(timer),
  };
}

/** Turns that one process carries per core. A second core takes the work beside the event loop; more do not help. */
const TURNS_PER_CORE = 256;
const USEFUL_CORES = 2;
/** The event loop lag, in milliseconds, above which no turn is let in. */
const LATEST_MS = 1_000;
/** For the header Retry-After. */
const RETRY_AFTER_SECONDS = 2;

/** Why a turn was refused: `full`, the limit is reached; `late`, the event loop does not keep up. */
export type Overload = "full" | "late";

export interface AdmissionParts {
  /** Turns at once in this process; 0: any number. Default: by the cores. */
  mostTurns: number | undefined;
  lag: Pick<EventLoopLag, "milliseconds">;
  onRefused: (why: Overload) => void;
}

/** Limits how many turns and tasks of front ends are in this process, running or waiting. */
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

/** The same slots, each of which also takes a place in the process. */
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
