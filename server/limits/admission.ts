import { availableParallelism } from "node:os";
import { AppError } from "../../errors/app-error.ts";

const SAMPLE_EVERY_MS = 100;
/** One second. */
const SAMPLES = 10;

/** The minimum tells a standing queue from a burst, as in CoDel: RFC 8289. */
export function watchEventLoop() {
  const lags: number[] = [];
  let due = performance.now() + SAMPLE_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - due));
    if (lags.length > SAMPLES) lags.shift();
    due = now + SAMPLE_EVERY_MS;
  }, SAMPLE_EVERY_MS).unref();
  return {
    /** The smallest lag of the last second. One long piece of work alone does not raise it. */
    milliseconds: (): number => (lags.length < SAMPLES ? 0 : Math.min(...lags)),
    close: (): void => clearInterval(timer),
  };
}

/** A second core takes the work beside the event loop; more do not help. */
const TURNS_PER_CORE = 256;
const USEFUL_CORES = 2;
const LATEST_MS = 1_000;
const RETRY_AFTER_SECONDS = 2;

/** `full`: the limit is reached. `late`: the event loop does not keep up. */
export type Overload = "full" | "late";

export type Admission = ReturnType<typeof makeAdmission>;

const OVERLOADED: Readonly<Record<Overload, string>> = {
  full: "This process has as many turns as it can answer; MAX_TURNS_PER_PROCESS sets the limit.",
  late: "This process is late with the turns it has.",
};

/** Limits the turns and tasks of front ends in this process. `mostTurns` 0: any number; default: by the cores. */
export function makeAdmission({
  mostTurns = TURNS_PER_CORE * Math.min(availableParallelism(), USEFUL_CORES),
  lag,
  onRefused,
}: {
  mostTurns: number | undefined;
  lag: { milliseconds(): number };
  onRefused: (why: Overload) => void;
}) {
  let inside = 0;
  function refuse(why: Overload): never {
    onRefused(why);
    throw new AppError("overloaded", `${OVERLOADED[why]} Nothing was stored. Send it again in ${RETRY_AFTER_SECONDS} s.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  return {
    /** Takes a place until the returned function is called. Throws AppError `overloaded`. */
    enter(): () => void {
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
