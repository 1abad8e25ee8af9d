import { Counter, Gauge, type Registry } from "prom-client";
import type { Overload } from "../limits/admission.ts";

export interface AdmissionMetrics {
  turnRefused: (why: Overload) => void;
  /** Asks how late the event loop is, in milliseconds, at each scrape. */
  watchLag(lagMs: () => number): void;
}

/** What is counted of turns that are not let in, and why they are not. */
export function admissionMetrics(registry: Registry): AdmissionMetrics {
  const refused = new Counter({
    name: "conversation_graph_turns_refused_total",
    help: "Turns refused because this process had too much to do. Reason: full, MAX_TURNS_PER_PROCESS were inside; late, its event loop did not keep up.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of ["full", "late"] satisfies Overload[]) refused.inc({ reason }, 0);
  let read = (): number => 0;
  const lag: Gauge = new Gauge({
    name: "conversation_graph_event_loop_lag_seconds",
    help: "How late the event loop has been throughout the last second: its least lag. Turns are refused while it is over 1.",
    registers: [registry],
    collect: () => lag.set(read() / 1_000),
  });
  return {
    turnRefused: (reason) => refused.inc({ reason }),
    watchLag: (lagMs) => void (read = lagMs),
  };
}
