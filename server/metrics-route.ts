import { Router } from "express";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import type { Metrics } from "./metrics.ts";

/** `GET /metrics`, for Prometheus. */
export function metricsRoute({ metrics, jobOverview }: { metrics: Metrics; jobOverview: JobOverview }): Router {
  return Router().get("/metrics", async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.render(jobOverview));
  });
}
