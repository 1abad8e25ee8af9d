import type { Registry } from "prom-client";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import type { JobCount, OldestWaiting } from "../../stores/jobs/job-overview.ts";
import { metricsIn } from "./service-metrics.ts";

export interface QueueState {
  counts: readonly JobCount[];
  oldest: readonly OldestWaiting[];
}

export function jobMetrics(registry: Registry) {
  const { counter, gauge, histogram } = metricsIn(registry);
  const readable = gauge(
    "job_queue_readable",
    "1 when the queue of jobs could be read for this scrape; else 0, and its depth and age are left out.",
  );
  const jobs = gauge("jobs", "Background jobs in the queue of all processes, by kind and state: waiting, retrying, running, dead.", [
    "kind",
    "state",
  ]);
  const oldestSeconds = gauge(
    "job_oldest_waiting_seconds",
    "Age of the oldest background job of all processes that waits, for its first run or another, by kind.",
    ["kind"],
  );
  const runs = counter("job_runs_total", "Runs of background jobs in this process, by kind and outcome.", ["kind", "outcome"]);
  const failures = counter("job_failures_total", "Runs of background jobs in this process that failed, by kind and code.", [
    "kind",
    "code",
  ]);
  const runSeconds = histogram("job_run_duration_seconds", "Time of one run of a background job in this process.", ["kind"]);
  return {
    ran: ({ kind, outcome, ms, error }: JobRun): void => {
      runs.inc({ kind, outcome });
      runSeconds.observe({ kind }, ms / 1_000);
      if (error) failures.inc({ kind, code: error.code });
    },
    /** Null: the queue could not be read, and is not shown. */
    queue(state: QueueState | null) {
      jobs.reset();
      oldestSeconds.reset();
      readable.set(state ? 1 : 0);
      for (const { kind, state: jobState, count } of state?.counts ?? []) jobs.set({ kind, state: jobState }, count);
      for (const { kind, seconds } of state?.oldest ?? []) oldestSeconds.set({ kind }, seconds);
    },
  };
}
