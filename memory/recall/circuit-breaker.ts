import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from "cockatiel";
import { abortable } from "../../models/deadlines.ts";
import { NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";

/** After so many failures in a row a dependency is not called for a while. */
const FAILURES = 3;
/** After so many milliseconds one call tries whether it is back. */
const PAUSE_MS = 5_000;

/** Calls a dependency until the signal aborts. Fails at once while the dependency is known to be away. */
export type CircuitBreaker = <Result>(call: () => Promise<Result>, signal: AbortSignal | undefined) => Promise<Result>;

/** A cancelled turn says nothing about the dependency; one that ran out of time does. */
function isFailure(error: unknown): boolean {
  return !(error instanceof Error && (error.name === "AbortError" || ("code" in error && error.code === "turn_cancelled")));
}

const STATES = {
  [CircuitState.Closed]: "closed",
  [CircuitState.HalfOpen]: "half_open",
  [CircuitState.Open]: "open",
  [CircuitState.Isolated]: "open",
} as const;

/** Cockatiel's circuit breaker, which hears the signal. The observer is told its state under `name`. */
export function makeCircuitBreaker(name = "unnamed", observer: Observer = NOOP_OBSERVER): CircuitBreaker {
  const policy = circuitBreaker(handleWhen(isFailure), { halfOpenAfter: PAUSE_MS, breaker: new ConsecutiveBreaker(FAILURES) });
  observer.tell({ happened: "circuit", circuit: name, state: "closed" });
  policy.onStateChange((state) => observer.tell({ happened: "circuit", circuit: name, state: STATES[state] }));
  // Abortable outside too: while one call tries whether the dependency is back, the others wait for it.
  return (call, signal) => abortable(() => policy.execute(() => abortable(call, signal)), signal);
}
