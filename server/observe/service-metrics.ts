import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LastEvent } from "../../graph/start-turn.ts";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import type { JobCount, OldestWaiting } from "../../stores/jobs/job-overview.ts";
import type { Overload } from "../limits/admission.ts";

/** Upper bounds in seconds, up to a slow model's long answer. */
export const TURN_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Upper bounds in seconds of one call of a store; few, because there are many statements. */
export const STORE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10];

/** A request that was answered, or whose client left. */
export interface EndedRequest {
  method: string;
  /** The route's template; `unmatched` without one. */
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

/** Counts a turn when it ends. */
export function turnMetrics(registry: Registry): (last: LastEvent) => void {
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
  const degraded = new Counter({
    name: "conversation_graph_turns_degraded_total",
    help: "Turns that ended with done without a memory layer that was switched on, by layer.",
    labelNames: ["layer"],
    registers,
  });
  const episodes = new Histogram({
    name: "conversation_graph_turn_recalled_episodes",
    help: "Earlier exchanges in the prompt of a turn that ended with done.",
    buckets: [0, 1, 2, 3, 5, 10, 20, 50],
    registers,
  });
  const passages = new Histogram({
    name: "conversation_graph_turn_passages",
    help: "Passages of documents in the prompt of a turn that ended with done.",
    buckets: [0, 1, 2, 4, 8, 16],
    registers,
  });

  return function turnEnded({ status, content }) {
    if (status === "error") {
      turns.inc({ outcome: content.code });
      return;
    }
    const { timings, receipt } = content;
    turns.inc({ outcome: content.completed ? "done" : "partial" });
    turnSeconds.observe(timings.total_ms / 1_000);
    if (timings.first_token_ms !== null) firstTokenSeconds.observe(timings.first_token_ms / 1_000);
    for (const layer of content.degraded) degraded.inc({ layer });
    episodes.observe(receipt.episodes.length);
    passages.observe(receipt.passages.length);
  };
}

/** The job queue, as the database has it. */
export interface QueueState {
  counts: readonly JobCount[];
  oldest: readonly OldestWaiting[];
}

export interface JobMetrics {
  ran: (run: JobRun) => void;
  /** Null: the queue could not be read, and is not shown. */
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

export interface AdmissionMetrics {
  turnRefused: (why: Overload) => void;
  /** Reads the lag of the event loop, in milliseconds, at each scrape. */
  watchLag(lagMs: () => number): void;
}

/** Counts the turns that are refused, and shows the lag that refuses them. */
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
