import type { RequestHandler } from "express";
import type { Logger } from "pino";
import { requestIdOf, withinRequest } from "./logger.ts";
import type { Observing } from "./open-observing.ts";

const UNTRACED = new Set(["/healthz", "/readyz", "/metrics"]);
const CLIENT_LEFT = 499;

/** Gives every request an id for X-Request-Id and its log lines, counts it and traces it. The first middleware. */
export function watchRequests({ metrics, traces, log }: Pick<Observing, "metrics" | "traces"> & { log: Logger }): RequestHandler {
  return function watchRequest(request, response, next) {
    const began = performance.now();
    const requestId = requestIdOf(request.get("x-request-id"));
    response.set("x-request-id", requestId);
    const trace = traces && !UNTRACED.has(request.path) ? traces.beginRequest(request.get("traceparent"), request.get("tracestate")) : null;
    const facts = { request_id: requestId, ...(trace ? { trace_id: trace.traceId } : {}) };
    metrics.requests.began();
    response.once("close", () => {
      const ended = {
        method: METHODS.has(request.method) ? request.method : "other",
        route: routeTemplate(request),
        status: response.writableFinished ? response.statusCode : CLIENT_LEFT,
        ms: performance.now() - began,
      };
      metrics.requests.ended(ended);
      const turnId = response.get("x-turn-id");
      trace?.end({ ...ended, requestId, ...(turnId === undefined ? {} : { turnId }) });
      withinRequest(facts, () => log.debug({ ...ended, ms: Math.round(ended.ms) }, "request ended"));
    });
    withinRequest(facts, () => (trace ? trace.within(next) : next()));
  };
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The path of the route that answered, with the names of its parameters. */
function routeTemplate({ route }: { route?: unknown }): string {
  const path = (route as { path?: unknown } | undefined)?.path;
  return typeof path === "string" ? path : "unmatched";
}
