import type { LastEvent } from "../../graph/start-turn.ts";
import type { Observer } from "../../observe/observer.ts";
import type { EndedRequest } from "./request-metrics.ts";

/** How a traced request ended, with the ids by which logs and clients know it. */
export interface TracedRequest extends EndedRequest {
  requestId: string;
  turnId?: string;
}

/** The span of one request, the root of what it gives rise to in this process. */
export interface RequestTrace {
  traceId: string;
  /** Runs what answers the request; spans that begin in it are its children. */
  within<Result>(run: () => Result): Result;
  end(ended: TracedRequest): void;
}

/** OpenTelemetry traces: of requests, nodes, calls of models and jobs. They hold names, counts and times, never what was said. */
export interface Traces {
  observer: Observer;
  /** Continues the trace that the headers of the request name, if they name one. */
  beginRequest(traceParent: string | undefined, traceState: string | undefined): RequestTrace;
  /** Tells the span of the request, in which this is called, what its turn came to. */
  turnEnded(last: LastEvent): void;
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>;
}
