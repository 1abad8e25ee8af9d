import type { Response, Router } from "express";
import { z } from "zod";
import type { Stores } from "../start/open-stores.ts";
import { JOB_KINDS, type JobKind } from "../../stores/jobs/job.ts";
import { assertWholeTenant, callerOf, requireWholeTenant, tenantOf } from "../auth/caller.ts";
import { pageQuery, parseRequest, uuidField } from "../http/parse-request.ts";
import { conversationOfCaller } from "../conversations/conversation-routes.ts";
import { makeRouter, operationGroup, route, jsonBody, time } from "../http/openapi/operation.ts";
import type { OwnedConversation } from "../../stores/owner.ts";

const JobsQuery = z.object({ limit: pageQuery.limit });
const RetryBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(", ")}`).optional(),
  conversation_id: uuidField.optional(),
});

export const jobKind = z.enum(JOB_KINDS);
export const jobState = z.enum(["waiting", "retrying", "running", "dead"]);
export const jobError = z.object({ code: z.string(), message: z.string() });
export const jobCounts = z.array(z.object({ kind: jobKind, state: jobState, count: z.int() }));

const JobsAnswer = z.object({
  jobs: jobCounts,
  dead: z
    .array(
      z.object({
        id: z.uuid(),
        kind: jobKind,
        tenant: z.string().optional().describe("For whoever sees those of all tenants."),
        user_id: z.string().optional(),
        conversation_id: z.uuid().optional(),
        error: jobError,
        attempts: z.int(),
        created_at: time,
        died_at: time,
      }),
    )
    .describe("The newest of those that failed for good."),
});
const RetriedJobs = z.object({ retried: z.int() });

export const jobOperations = operationGroup({
  tag: "service",
  schemas: { RetryBody, JobsAnswer, RetriedJobs },
  routes: {
    listJobs: route("GET /api/v1/jobs", "Background jobs: how many, by kind and state, and those that failed for good", {
      query: JobsQuery,
      answer: JobsAnswer,
    }),
    retryJobs: route(
      "POST /api/v1/jobs/retry",
      "Runs those again that failed for good; with `conversation_id` those of one conversation and of its user's memory agent",
      { body: jsonBody(RetryBody), bodyIsOptional: true, answer: RetriedJobs, errors: ["not_found"] },
    ),
  },
});

/** Null: every tenant. */
export function jobTenantOf(response: Response): string | null {
  const { everyTenant, tenantId } = callerOf(response);
  return everyTenant ? null : tenantId;
}

/** Background jobs of the caller's tenant, or of all tenants for a key of scope admin. */
export function jobRoutes({ stores }: { stores: Stores }): Router {
  const { jobs: jobOverview, conversations } = stores;
  async function retryOf(kind: JobKind | undefined, owned: OwnedConversation): Promise<number> {
    const { tenantId, userId, conversationId } = owned;
    const ofConversation = await jobOverview.retryDead({ kind, tenantId, userId, conversationId });
    if (kind !== undefined && kind !== "remember") return ofConversation;
    return ofConversation + (await jobOverview.retryDead({ kind: "remember", tenantId, userId }));
  }

  return makeRouter(jobOperations, {
    listJobs: [
      requireWholeTenant,
      async (request, response) => {
        const { limit } = parseRequest(JobsQuery, request.query);
        const tenantId = jobTenantOf(response);
        const [jobs, dead] = await Promise.all([jobOverview.count(tenantId), jobOverview.listDead(limit, tenantId)]);
        response.json({
          jobs,
          dead: dead.map(({ id, job, failure, attempts, createdAt, diedAt }) => ({
            id,
            kind: job.kind,
            ...(tenantId === null && "tenantId" in job ? { tenant: job.tenantId } : {}),
            ...("conversationId" in job ? { user_id: job.userId, conversation_id: job.conversationId } : {}),
            error: failure,
            attempts,
            created_at: createdAt,
            died_at: diedAt,
          })),
        });
      },
    ],
    async retryJobs(request, response) {
      const { kind, conversation_id: conversationId } = parseRequest(RetryBody, request.body ?? {});
      if (conversationId === undefined) {
        assertWholeTenant(response);
        response.json({ retried: await jobOverview.retryDead({ kind, tenantId: jobTenantOf(response) }) });
        return;
      }
      const { userId } = await conversationOfCaller(conversations, conversationId, response);
      response.json({ retried: await retryOf(kind, { tenantId: tenantOf(response), userId, conversationId }) });
    },
  });
}
