import { collectDefaultMetrics, Registry } from "prom-client";
import { z } from "zod";
import type { Router } from "express";
import type { Logger } from "pino";
import { type HealthChecks, allDependencies, DEPENDENCY_STATES, type DependencyState, freeBytesOf, statesOf } from "./health.ts";
import { admissionMetrics, ratingMetrics, requestMetrics, turnMetrics, metricsIn } from "./service-metrics.ts";
import { callMetrics } from "./call-metrics.ts";
import { toAppError } from "../../errors/app-error.ts";
import { abortable } from "../../turn/deadlines.ts";
import { findOldestWaiting, type JobCount, type OldestWaiting } from "../../stores/jobs/job-overview.ts";
import type { Stores } from "../parts/open-stores.ts";
import { causeFacts } from "../../observe/logger.ts";
import { makeRouter, operationGroup, route } from "../http/operation.ts";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";

export interface QueueState {
  counts: readonly JobCount[];
  oldest: readonly OldestWaiting[];
}

function jobMetrics(registry: Registry) {
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

export interface HealthNow {
  dependencies: readonly (readonly [name: string, state: DependencyState])[];
  /** Null: there is no data folder, or it cannot be read. */
  freeBytes: number | null;
}

const UNKNOWN_HEALTH: HealthNow = { dependencies: [], freeBytes: null };

/** What `/readyz` asks, and the embedded database's free room. */
async function readHealth(checks: HealthChecks): Promise<HealthNow> {
  const free = checks.dataFolder === null ? null : freeBytesOf(checks.dataFolder).catch(() => null);
  const [dependencies, freeBytes] = await Promise.all([statesOf(allDependencies(checks)), free]);
  return { dependencies, freeBytes };
}

function healthMetrics(registry: Registry): (now: HealthNow) => void {
  const { gauge } = metricsIn(registry);
  const states = gauge(
    "dependency_state",
    "1 for the state that each thing the service uses is in, 0 for the others: up, down, read_only (also for a full disk).",
    ["dependency", "state"],
  );
  const free = gauge("data_folder_free_bytes", "Bytes free where the embedded database keeps its data.", ["folder"]);
  return ({ dependencies, freeBytes }) => {
    states.reset();
    free.reset();
    for (const [dependency, now] of dependencies)
      for (const state of DEPENDENCY_STATES) states.set({ dependency, state }, state === now ? 1 : 0);
    if (freeBytes !== null) free.set({ folder: "DATA_DIR" }, freeBytes);
  };
}

/** The metrics of one service. Labels have few values: never a user, session, path or message. */
export function makeMetrics() {
  const registry = new Registry();
  const jobs = jobMetrics(registry);
  const showHealth = healthMetrics(registry);
  return {
    contentType: registry.contentType,
    /** Prometheus' text. `queue` null: it could not be read. */
    async render(queue: QueueState | null, health: HealthNow = UNKNOWN_HEALTH): Promise<string> {
      jobs.queue(queue);
      showHealth(health);
      const texts = await Promise.all([registry.metrics(), processMetrics().metrics()]);
      return texts.join("\n");
    },
    observer: callMetrics(registry),
    requests: requestMetrics(registry),
    turnEnded: turnMetrics(registry),
    jobRan: jobs.ran,
    answerRated: ratingMetrics(registry),
    ...admissionMetrics(registry),
  };
}
export type Metrics = ReturnType<typeof makeMetrics>;

/** Milliseconds between two looks at the event loop, which the lag includes. Each wakes the process: 10 ms took 4 ms of CPU a second. */
const EVENT_LOOP_LOOKS_MS = 100;

let ofThisProcess: Registry | undefined;

function processMetrics(): Registry {
  if (!ofThisProcess) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess, eventLoopMonitoringPrecision: EVENT_LOOP_LOOKS_MS });
  }
  return ofThisProcess;
}

export const metricsOperations = operationGroup({
  tag: "service",
  routes: {
    getMetrics: route("GET /metrics", "Metrics for Prometheus", {
      answers: { 200: { what: "Prometheus' text format.", content: { "text/plain": z.string() } } },
    }),
  },
});

/** Milliseconds for reading the queue; Prometheus gives up after ten seconds. */
const QUEUE_TIMEOUT_MS = 2_000;

interface MetricsRouteParts {
  stores: Stores;
  health: HealthChecks;
  metrics: Metrics;
  log: Logger;
}

/** `GET /metrics`, which also answers while the database is unreachable. */
export function metricsRoute({ stores, health, metrics, log }: MetricsRouteParts): Router {
  const readQueue = async () => {
    const [counts, oldest] = await Promise.all([stores.jobs.count(null), findOldestWaiting(stores.database)]);
    return { counts, oldest };
  };
  return makeRouter(metricsOperations, {
    async getMetrics(_request, response) {
      const queue = abortable(readQueue, AbortSignal.timeout(QUEUE_TIMEOUT_MS)).catch((error: unknown) => {
        log.debug({ causes: causeFacts(toAppError(error)) }, "the queue of jobs could not be read for the metrics");
        return null;
      });
      const [read, now] = await Promise.all([queue, readHealth(health)]);
      response.type(metrics.contentType).send(await metrics.render(read, now));
    },
  });
}
