import { type Response, Router } from "express";
import { z } from "zod";
import type { ConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import { JOB_KINDS, type JobKind } from "../../stores/jobs/job.ts";
import type { JobOverview } from "../../stores/jobs/job-overview.ts";
import type { OwnedConversation } from "../../stores/postgres/memory/summary-store.ts";
import { assertWholeTenant, callerOf, requireWholeTenant, tenantOf } from "../auth/caller.ts";
import { pageQuery, parseRequest, uuidField } from "../http/parse-request.ts";
import { conversationOfCaller } from "../conversations/conversation-routes.ts";

export const JobsQuery = z.object({ limit: pageQuery.limit });
export const RetryBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(", ")}`).optional(),
  conversation_id: uuidField.optional(),
});

/** The tenant whose jobs a caller sees; null for those of all. */
export function jobTenantOf(response: Response): string | null {
  const { everyTenant, tenantId } = callerOf(response);
  return everyTenant ? null : tenantId;
}

/**
 * Background jobs, of the caller's tenant or, for a key of scope admin, of all: how many, by kind and state, with the newest of those that failed for
 * good; and running these again, or those of one conversation, with the memory agent of its user.
 */
export function jobRoutes({ jobOverview, conversations }: { jobOverview: JobOverview; conversations: ConversationStore }): Router {
  async function retryOf(kind: JobKind | undefined, owned: OwnedConversation): Promise<number> {
    const { tenantId, userId, conversationId } = owned;
    const ofConversation = await jobOverview.retryDead({ kind, tenantId, userId, conversationId });
    if (kind !== undefined && kind !== "remember") return ofConversation;
    return ofConversation + (await jobOverview.retryDead({ kind: "remember", tenantId, userId }));
  }

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
          ...(tenantId === null && "tenantId" in job ? { tenant: job.tenantId } : {}),
          ...("conversationId" in job ? { user_id: job.userId, conversation_id: job.conversationId } : {}),
          error: failure,
          attempts,
          created_at: createdAt,
          died_at: diedAt,
        })),
      });
    })
    .post("/jobs/retry", async (request, response) => {
      const { kind, conversation_id: conversationId } = parseRequest(RetryBody, request.body ?? {});
      if (conversationId === undefined) {
        assertWholeTenant(response);
        response.json({ retried: await jobOverview.retryDead({ kind, tenantId: jobTenantOf(response) }) });
        return;
      }
      const { userId } = await conversationOfCaller(conversations, conversationId, response);
      response.json({ retried: await retryOf(kind, { tenantId: tenantOf(response), userId, conversationId }) });
    });
}
