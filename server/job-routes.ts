import { Router, type Response } from "express";
import { z } from "zod";
import { JOB_KINDS } from "../stores/jobs/job.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import { callerOf } from "./caller.ts";
import { parseRequest } from "./parse-request.ts";
import { pageQuery } from "./request-fields.ts";
import { requireWholeTenant } from "./scopes.ts";

export const JobsQuery = z.object({ limit: pageQuery.limit });
export const RetryBody = z.strictObject({ kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(", ")}`).optional() });

/** The tenant whose jobs a caller sees; undefined for those of all. */
function jobTenantOf(response: Response): string | undefined {
  const { everyTenant, tenantId } = callerOf(response);
  return everyTenant ? undefined : tenantId;
}

/**
 * Background jobs, of the caller's tenant or, for a key of scope admin, of all: how many, by kind and state, with the newest of those that failed for
 * good; and running these again.
 */
export function jobRoutes({ jobOverview }: { jobOverview: JobOverview }): Router {
  return Router()
    .get("/jobs", requireWholeTenant, async (request, response) => {
      const { limit } = parseRequest(JobsQuery, request.query);
      const tenantId = jobTenantOf(response);
      const [jobs, dead] = await Promise.all([jobOverview.count(tenantId), jobOverview.listDead(limit, tenantId)]);
      response.json({
        jobs,
        dead: dead.map(({ id, job, failure, attempts, createdAt, diedAt }) => ({
          id,
          kind: job.kind,
          ...(tenantId === undefined && "tenantId" in job ? { tenant: job.tenantId } : {}),
          ...("conversationId" in job ? { user_id: job.userId, conversation_id: job.conversationId } : {}),
          error: failure,
          attempts,
          created_at: createdAt,
          died_at: diedAt,
        })),
      });
    })
    .post("/jobs/retry", requireWholeTenant, async (request, response) => {
      const { kind } = parseRequest(RetryBody, request.body ?? {});
      response.json({ retried: await jobOverview.retryDead({ kind, tenantId: jobTenantOf(response) }) });
    });
}
