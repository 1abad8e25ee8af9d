import { isNativeError } from "node:util/types";

/** An error can be its own cause. */
const MOST_CAUSES = 10;

// Errors of fetch belong to Node's realm: under jest they are no `instanceof Error`. In older Node a DOMException is no native error.
const isError = (value: unknown): value is Error => isNativeError(value) || value instanceof Error;

/** The error and its causes, outermost first. */
export function withCauses(thrown: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = thrown; isError(cause) && causes.length < MOST_CAUSES; cause = cause.cause) causes.push(cause);
  return causes;
}
