import { Router } from "express";
import type { Logger } from "pino";
import { toAppError } from "../errors/app-error.ts";
import { orAborted } from "../models/or-aborted.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import type { OldestWaiting } from "../stores/jobs/oldest-waiting.ts";
import { causeFacts } from "./cause-facts.ts";
import type { Metrics } from "./metrics.ts";

export interface MetricsRouteParts {
  metrics: Metrics;
  jobOverview: JobOverview;
  oldestWaiting: () => Promise<OldestWaiting[]>;
  log: Logger;
}

/** How long the database may take to tell of the queue, in milliseconds: Prometheus gives up after ten seconds. */
const QUEUE_TIMEOUT_MS = 2_000;

/** `GET /metrics`, for Prometheus. Answers also while the database is away, which is when they are looked at. */
export function metricsRoute({ metrics, jobOverview, oldestWaiting, log }: MetricsRouteParts): Router {
  const readQueue = async () => {
    const [counts, oldest] = await Promise.all([jobOverview.count(null), oldestWaiting()]);
    return { counts, oldest };
  };
  return Router().get("/metrics", async (_request, response) => {
    const queue = await orAborted(readQueue, AbortSignal.timeout(QUEUE_TIMEOUT_MS)).catch((error: unknown) => {
      log.debug({ causes: causeFacts(toAppError(error)) }, "the queue of jobs could not be read for the metrics");
      return null;
    });
    response.type(metrics.contentType).send(await metrics.render(queue));
  });
}
