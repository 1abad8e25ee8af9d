import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { TURN_BUCKETS } from "./buckets.ts";

/** A request that was answered, or whose client left. */
export interface EndedRequest {
  method: string;
  /** The template that the route was declared with, `unmatched` without one. */
  route: string;
  /** 499: the client left before the end of the answer. */
  status: number;
  ms: number;
}

export interface RequestMetrics {
  began(): void;
  ended(request: EndedRequest): void;
}

export function requestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: "conversation_graph_http_requests_open",
    help: "Requests that are being answered, event streams among them.",
    registers,
  });
  const requests = new Counter({
    name: "conversation_graph_http_requests_total",
    help: "Requests by method, route template and status; 499: the client left before the end of the answer.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "conversation_graph_http_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer, by method and route template.",
    labelNames: ["method", "route"],
    buckets: TURN_BUCKETS,
    registers,
  });
  return {
    began: () => open.inc(),
    ended({ method, route, status, ms }) {
      open.dec();
      requests.inc({ method, route, status });
      seconds.observe({ method, route }, ms / 1_000);
    },
  };
}
