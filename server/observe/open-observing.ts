import type { Logger } from "pino";
import { combineObservers, NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { Config } from "../start/config.ts";
import { makeMetrics } from "./metrics.ts";
import { outsideRequests } from "./logger.ts";
import type { Providers, Traces } from "./traces.ts";

/** Runs jobs outside of requests, even when a request woke them up. */
const apartFromRequests: Observer = {
  ...NOOP_OBSERVER,
  watch: (work, run) => (work.work === "job" ? outsideRequests(() => NOOP_OBSERVER.watch(work, run)) : NOOP_OBSERVER.watch(work, run)),
};

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
  const watching = combineObservers(apartFromRequests, metrics.observer);
  return {
    metrics: {
      ...metrics,
      turnEnded(last: LastEvent): void {
        metrics.turnEnded(last);
        traces?.turnEnded(last);
      },
    },
    /** Null unless OTEL_EXPORTER_OTLP_ENDPOINT is set. */
    traces,
    /** Of the graph, the memory, the models and the stores. */
    observer: traces ? combineObservers(watching, traces.observer) : watching,
    close: async (): Promise<void> => traces?.close(),
  };
}
