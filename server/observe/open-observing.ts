import type { RequestHandler } from "express";
import type { Logger } from "pino";
import { combineObservers, NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { Config } from "../settings/config.ts";
import { makeMetrics } from "./metrics.ts";
import { errorFacts, outsideRequests, requestIdOf, withinRequest } from "../../observe/logger.ts";
import type { Providers, Traces } from "./traces.ts";
import { watchUnfitModels } from "../models/unfit-models.ts";

/** Runs jobs outside of requests, even when a request woke them up. */
const apartFromRequests: Observer = {
  ...NOOP_OBSERVER,
  watch: (work, run) => (work.work === "job" ? outsideRequests(() => NOOP_OBSERVER.watch(work, run)) : NOOP_OBSERVER.watch(work, run)),
};

const logHappenings = (log: Logger): Observer => ({
  ...NOOP_OBSERVER,
  tell(happening) {
    if (happening.happened === "tool_broke") {
      log.error({ tool: happening.tool, ...errorFacts(happening.error) }, "a call of a tool failed inside the service");
    }
    if (happening.happened === "unused_erased") {
      const { conversations, messages } = happening;
      log.info({ conversations, messages }, "conversations were erased in which nothing had happened for RETENTION_DAYS");
    }
  },
});

/** Loads the libraries, which takes 100 ms, only when traces are sent. */
async function openTracesOf(config: Config, log: Logger, providers: Providers): Promise<Traces | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {}, OTEL_SERVICE_NAME: serviceName } = config;
  if (endpoint === undefined) return null;
  const { openTraces } = await import("./traces.ts");
  return openTraces({
    endpoint,
    headers,
    serviceName,
    providers,
    onChange: (works, error) =>
      outsideRequests(() => {
        const problem = "traces cannot be sent to OTEL_EXPORTER_OTLP_ENDPOINT; those that wait too long are dropped";
        if (works) log.info("traces are sent again");
        else log.warn({ reason: error?.message }, problem);
      }),
  });
}

export type Observing = Awaited<ReturnType<typeof openObserving>>;

export async function openObserving(config: Config, log: Logger, providers: Providers) {
  const metrics = makeMetrics();
  const traces = await openTracesOf(config, log, providers);
  const unfitModels = watchUnfitModels(log);
  const logging = combineObservers(unfitModels.observer, logHappenings(log));
  const watching = combineObservers(combineObservers(apartFromRequests, logging), metrics.observer);
  return {
    metrics: {
      ...metrics,
      turnEnded(last: LastEvent): void {
        metrics.turnEnded(last);
        traces?.turnEnded(last);
      },
    },
    unfitModels: unfitModels.list,
    /** Null unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
    traces,
    /** The observer of the graph, the memory, the models and the stores. */
    observer: traces ? combineObservers(watching, traces.observer) : watching,
    close: async (): Promise<void> => traces?.close(),
  };
}

const UNTRACED = new Set(["/healthz", "/readyz", "/api/v1/health", "/metrics"]);
const CLIENT_LEFT = 499;
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** The first middleware: gives every request an id for X-Request-Id and its log lines, counts it and traces it. */
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

/** The path of the route that answered, with the names of its parameters. */
function routeTemplate({ route }: { route?: unknown }): string {
  const path = (route as { path?: unknown } | undefined)?.path;
  return typeof path === "string" ? path : "unmatched";
}
