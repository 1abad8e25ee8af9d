import { isNativeError } from "node:util/types";

/** An error can be its own cause. */
const MOST_CAUSES = 10;

/** The error and its causes, outermost first. Errors of fetch belong to Node's realm, so under jest they are no `instanceof Error`. */
export function withCauses(thrown: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = thrown; isNativeError(cause) && causes.length < MOST_CAUSES; cause = cause.cause) causes.push(cause);
  return causes;
}
