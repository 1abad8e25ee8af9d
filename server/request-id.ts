import { AsyncLocalStorage } from "node:async_hooks";
import { v7 as uuidv7 } from "uuid";

/** What fits into one line of any log, whatever reads it. */
const SANE = /^[\w.-]{1,100}$/;

/** What every log line of a request carries, so that they can be found together, and with its trace. */
export interface RequestFacts {
  request_id: string;
  trace_id?: string;
}

const current = new AsyncLocalStorage<RequestFacts | undefined>();

/** The id that a client or proxy gave the request, if it is one of 1 to 100 letters, digits, dots, dashes and underscores; else a new one. */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && SANE.test(given) ? given : uuidv7();
}

/** Runs what answers a request; all that comes of it knows the request. */
export function withinRequest<Result>(facts: RequestFacts, run: () => Result): Result {
  return current.run(facts, run);
}

/** Runs what belongs to no request, though one may have given rise to it. */
export function outsideRequests<Result>(run: () => Result): Result {
  return current.run(undefined, run);
}

/** Of the request that is being answered here; a new object, empty outside of requests. */
export function requestFacts(): Partial<RequestFacts> {
  return { ...current.getStore() };
}
