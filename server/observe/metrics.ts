import { collectDefaultMetrics, Registry } from "prom-client";
import { z } from "zod";
import type { Router } from "express";
import type { Logger } from "pino";
import { type HealthNow, healthMetrics, readHealth, UNKNOWN_HEALTH } from "./health-metrics.ts";
import type { HealthChecks } from "./health.ts";
import { jobMetrics, type QueueState } from "./job-metrics.ts";
import { admissionMetrics, ratingMetrics, requestMetrics, turnMetrics } from "./service-metrics.ts";
import { callMetrics } from "./call-metrics.ts";
import { toAppError } from "../../errors/app-error.ts";
import { abortable } from "../../turn/deadlines.ts";
import { findOldestWaiting } from "../../stores/jobs/job-overview.ts";
import type { Stores } from "../parts/open-stores.ts";
import { causeFacts } from "../../observe/logger.ts";
import { makeRouter, operationGroup, route } from "../http/operation.ts";

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

let ofThisProcess: Registry | undefined;

function processMetrics(): Registry {
  if (!ofThisProcess) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess });
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
