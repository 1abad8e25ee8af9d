import { BrokenCircuitError, circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from "cockatiel";
import { abortable } from "../../turn/deadlines.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";

const FAILURES_IN_A_ROW = 3;
/** Afterwards one call tries the dependency. */
const PAUSE_MS = 5_000;

/** Calls a dependency until the signal aborts. After three failures in a row it rethrows the last one for five seconds. */
export type CircuitBreaker = <Result>(call: () => Promise<Result>, signal: AbortSignal | undefined) => Promise<Result>;

/** A timeout is a failure of the dependency; a cancelled turn is not. */
function isFailure(error: unknown): boolean {
  return !(error instanceof Error && (error.name === "AbortError" || ("code" in error && error.code === "turn_cancelled")));
}

const STATES = {
  [CircuitState.Closed]: "closed",
  [CircuitState.HalfOpen]: "half_open",
  [CircuitState.Open]: "open",
  [CircuitState.Isolated]: "open",
} as const;

export function makeCircuitBreaker(name = "unnamed", observer: Observer = NOOP_OBSERVER): CircuitBreaker {
  const policy = circuitBreaker(handleWhen(isFailure), { halfOpenAfter: PAUSE_MS, breaker: new ConsecutiveBreaker(FAILURES_IN_A_ROW) });
  observer.tell({ happened: "circuit", circuit: name, state: "closed" });
  let lastFailure: unknown;
  policy.onFailure(({ reason }) => (lastFailure = "error" in reason ? reason.error : reason.value));
  policy.onStateChange((state) => observer.tell({ happened: "circuit", circuit: name, state: STATES[state] }));
  // Abortable outside too: half open, cockatiel lets other calls wait for the one that tries.
  return (call, signal) =>
    abortable(() => policy.execute(() => abortable(call, signal)), signal).catch((error: unknown) => {
      throw error instanceof BrokenCircuitError ? (lastFailure ?? error) : error;
    });
}
