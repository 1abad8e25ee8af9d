import { Router } from "express";
import { z } from "zod";
import { JOB_KINDS } from "../stores/jobs/job.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import { tenantOf } from "./authenticate.ts";
import { parseRequest } from "./parse-request.ts";
import { pageQuery } from "./request-fields.ts";

export const JobsQuery = z.object({ limit: pageQuery.limit });
export const RetryBody = z.strictObject({ kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(", ")}`).optional() });

/** A tenant's background jobs: how many, by kind and state, with the newest of those that failed for good; and running these again. */
export function jobRoutes({ jobOverview }: { jobOverview: JobOverview }): Router {
  return Router()
    .get("/jobs", async (request, response) => {
      const { limit } = parseRequest(JobsQuery, request.query);
      const tenantId = tenantOf(response);
      const [jobs, dead] = await Promise.all([jobOverview.count(tenantId), jobOverview.listDead(limit, tenantId)]);
      response.json({
        jobs,
        dead: dead.map(({ id, job, failure, attempts, createdAt, diedAt }) => ({
          id,
          kind: job.kind,
          ...("conversationId" in job ? { user_id: job.userId, conversation_id: job.conversationId } : {}),
          error: failure,
          attempts,
          created_at: createdAt,
          died_at: diedAt,
        })),
      });
    })
    .post("/jobs/retry", async (request, response) => {
      const { kind } = parseRequest(RetryBody, request.body ?? {});
      response.json({ retried: await jobOverview.retryDead({ kind, tenantId: tenantOf(response) }) });
    });
}
