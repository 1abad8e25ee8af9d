import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import type { JobCount } from "../../stores/jobs/job-overview.ts";
import type { OldestWaiting } from "../../stores/jobs/oldest-waiting.ts";
import { TURN_BUCKETS } from "./buckets.ts";

/** What the database says of the queue. */
export interface QueueState {
  counts: readonly JobCount[];
  oldest: readonly OldestWaiting[];
}

export interface JobMetrics {
  ran: (run: JobRun) => void;
  /** Null: the queue could not be read; what is not known is not shown. */
  queue(state: QueueState | null): void;
}

export function jobMetrics(registry: Registry): JobMetrics {
  const registers = [registry];
  const readable = new Gauge({
    name: "conversation_graph_job_queue_readable",
    help: "1 when the queue of jobs could be read for this scrape; else 0, and its depth and age are left out.",
    registers,
  });
  const jobs = new Gauge({
    name: "conversation_graph_jobs",
    help: "Background jobs in the queue of all processes, by kind and state: waiting, retrying, running, dead.",
    labelNames: ["kind", "state"],
    registers,
  });
  const oldestSeconds = new Gauge({
    name: "conversation_graph_job_oldest_waiting_seconds",
    help: "Age of the oldest background job of all processes that waits, for its first run or another, by kind.",
    labelNames: ["kind"],
    registers,
  });
  const runs = new Counter({
    name: "conversation_graph_job_runs_total",
    help: "Runs of background jobs in this process, by kind and outcome.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const failures = new Counter({
    name: "conversation_graph_job_failures_total",
    help: "Runs of background jobs in this process that failed, by kind and code.",
    labelNames: ["kind", "code"],
    registers,
  });
  const runSeconds = new Histogram({
    name: "conversation_graph_job_run_duration_seconds",
    help: "Time of one run of a background job in this process.",
    labelNames: ["kind"],
    buckets: TURN_BUCKETS,
    registers,
  });
  return {
    ran({ kind, outcome, ms, error }) {
      runs.inc({ kind, outcome });
      runSeconds.observe({ kind }, ms / 1_000);
      if (error) failures.inc({ kind, code: error.code });
    },
    queue(state) {
      jobs.reset();
      oldestSeconds.reset();
      readable.set(state ? 1 : 0);
      for (const { kind, state: jobState, count } of state?.counts ?? []) jobs.set({ kind, state: jobState }, count);
      for (const { kind, seconds } of state?.oldest ?? []) oldestSeconds.set({ kind }, seconds);
    },
  };
}
