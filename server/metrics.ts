import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { LastEvent } from "../graph/start-turn.ts";
import type { JobRun } from "../memory/jobs/run-jobs.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";

/** Seconds: from what the service itself takes to a slow model's long answer. */
const TURN_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What the service counts, in Prometheus' text format. */
export interface Metrics {
  contentType: string;
  /** Asks the database how many jobs there are; the rest is counted as it happens. */
  render(jobOverview: JobOverview): Promise<string>;
  turnEnded(last: LastEvent): void;
  jobRan(run: JobRun): void;
}

/** A registry of its own for each service, so that several can be in one process. */
export function makeMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const turns = new Counter({
    name: "conversation_graph_turns_total",
    help: "Turns that ended, by outcome: done, partial, or the code of the error.",
    labelNames: ["outcome"],
    registers,
  });
  const turnSeconds = new Histogram({
    name: "conversation_graph_turn_duration_seconds",
    help: "Time of a turn that ended with done.",
    buckets: TURN_BUCKETS,
    registers,
  });
  const firstTokenSeconds = new Histogram({
    name: "conversation_graph_turn_first_token_seconds",
    help: "Time to the first token of a turn that ended with done.",
    buckets: TURN_BUCKETS,
    registers,
  });
  const jobs = new Gauge({
    name: "conversation_graph_jobs",
    help: "Background jobs in the queue of all processes, by kind and state: waiting, retrying, running, dead.",
    labelNames: ["kind", "state"],
    registers,
  });
  const jobRuns = new Counter({
    name: "conversation_graph_job_runs_total",
    help: "Runs of background jobs in this process, by kind and outcome.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const jobSeconds = new Histogram({
    name: "conversation_graph_job_run_duration_seconds",
    help: "Time of one run of a background job in this process.",
    labelNames: ["kind"],
    buckets: TURN_BUCKETS,
    registers,
  });
  return {
    contentType: registry.contentType,
    async render(jobOverview) {
      const counted = await jobOverview.count();
      jobs.reset();
      for (const { kind, state, count } of counted) jobs.set({ kind, state }, count);
      return registry.metrics();
    },
    turnEnded({ status, content }) {
      if (status === "error") {
        turns.inc({ outcome: content.code });
        return;
      }
      turns.inc({ outcome: content.completed ? "done" : "partial" });
      turnSeconds.observe(content.timings.total_ms / 1_000);
      if (content.timings.first_token_ms !== null) firstTokenSeconds.observe(content.timings.first_token_ms / 1_000);
    },
    jobRan({ kind, outcome, ms }) {
      jobRuns.inc({ kind, outcome });
      jobSeconds.observe({ kind }, ms / 1_000);
    },
  };
}
