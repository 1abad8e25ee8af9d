import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from "cockatiel";
import { abortable } from "../../models/deadlines.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";

/** A dependency that failed this often in a row is not asked for a while. */
const FAILURES = 3;
/** After this pause, in milliseconds, one call tries whether it is back. */
const PAUSE_MS = 5_000;

/** Calls a dependency as long as it answers within the signal's time; while it is known to be away, fails at once. */
export type CircuitBreaker = <Result>(call: () => Promise<Result>, signal: AbortSignal | undefined) => Promise<Result>;

/** A turn that was cancelled says nothing about the dependency; one that ran out of time does. */
function isFailure(error: unknown): boolean {
  return !(error instanceof Error && (error.name === "AbortError" || ("code" in error && error.code === "turn_cancelled")));
}

const STATES = {
  [CircuitState.Closed]: "closed",
  [CircuitState.HalfOpen]: "half_open",
  [CircuitState.Open]: "open",
  [CircuitState.Isolated]: "open",
} as const;

/** `name` says to the observer which one it is. */
export function makeCircuitBreaker(name = "unnamed", observer: Observer = NOOP_OBSERVER): CircuitBreaker {
  const policy = circuitBreaker(handleWhen(isFailure), { halfOpenAfter: PAUSE_MS, breaker: new ConsecutiveBreaker(FAILURES) });
  observer.tell({ happened: "circuit", circuit: name, state: "closed" });
  policy.onStateChange((state) => observer.tell({ happened: "circuit", circuit: name, state: STATES[state] }));
  // Outside too: while one call tries whether the dependency is back, the others wait for its end, but no longer than they may.
  return (call, signal) => abortable(() => policy.execute(() => abortable(call, signal)), signal);
}
