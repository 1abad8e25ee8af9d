import type { Response, Router } from "express";
import { z } from "zod";
import { waitUntilSettled } from "../../../memory/jobs/wait-until-settled.ts";
import { JOB_KINDS, type JobKind } from "../../../stores/jobs/job.ts";
import { assertWholeTenant, callerOf, requireWholeTenant } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { pageQuery, parseRequest, uuidField, wholeNumberField } from "../../http/parse-request.ts";
import { conversationOfCaller, findConversation } from "../conversations/conversation-routes.ts";
import { makeRouter, operationGroup, route, jsonBody, time } from "../../http/operation.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";

const JobsQuery = z.object({ limit: pageQuery.limit });
const RetryBody = z.strictObject({
  kind: z.enum(JOB_KINDS, `must be one of ${JOB_KINDS.join(", ")}`).optional(),
  conversation_id: uuidField.optional(),
});

const jobKind = z.enum(JOB_KINDS);
const jobState = z.enum(["waiting", "retrying", "running", "dead"]);
const jobError = z.object({ code: z.string(), message: z.string() });
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
const LONGEST_SETTLE_MS = 300_000;
const SettleQuery = z.object({ timeout_ms: wholeNumberField(0, LONGEST_SETTLE_MS).default(30_000) });
const SettleAnswer = z.object({ settled: z.boolean(), pending: z.int().describe("Jobs that wait or run.") });
const ConversationJobs = z.object({
  jobs: z.array(
    z.object({
      id: z.uuid(),
      kind: jobKind,
      state: jobState,
      attempts: z.int().describe("Runs it had, the present one not counted."),
      error: jobError.nullable().describe("Of its last run."),
      created_at: time,
    }),
  ),
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

export const conversationJobOperations = operationGroup({
  tag: "conversations",
  schemas: { SettleAnswer, ConversationJobs },
  routes: {
    listConversationJobs: route(
      "GET /api/v1/conversations/:id/jobs",
      "The background jobs of a conversation and of its user's memory agent that wait, run or failed for good, oldest first",
      { answer: ConversationJobs, errors: ["not_found"] },
    ),
    settleConversation: route("POST /api/v1/conversations/:id/settle", "Waits until the background jobs of a conversation are done", {
      query: SettleQuery,
      answer: SettleAnswer,
      errors: ["not_found", "unsupported_media_type"],
    }),
  },
});

/** Null: every tenant. */
export function jobTenantOf(response: Response): string | null {
  const { everyTenant, tenantId } = callerOf(response);
  return everyTenant ? null : tenantId;
}

/** Background jobs of a conversation and of the caller's tenant, or of all tenants for a key of scope admin. */
export function jobRoutes({ stores }: { stores: Pick<Stores, "conversations" | "jobs"> }): Router {
  const { jobs: jobOverview, conversations } = stores;
  async function retryOf(kind: JobKind | undefined, owned: OwnedConversation): Promise<number> {
    const { tenantId, userId, conversationId } = owned;
    const ofConversation = await jobOverview.retryDead({ kind, tenantId, userId, conversationId });
    if (kind !== undefined && kind !== "remember") return ofConversation;
    return ofConversation + (await jobOverview.retryDead({ kind: "remember", tenantId, userId }));
  }

  const ofConversation = makeRouter(conversationJobOperations, {
    async listConversationJobs(request, response) {
      const jobs = await jobOverview.listOf(await findConversation(conversations, request, response));
      response.json({
        jobs: jobs.map(({ id, kind, state, attempts, failure, createdAt }) => {
          return { id, kind, state, attempts, error: failure, created_at: createdAt };
        }),
      });
    },
    async settleConversation(request, response) {
      const { timeout_ms: timeoutMs } = parseRequest(SettleQuery, request.query);
      const conversation = await findConversation(conversations, request, response);
      const pending = await waitUntilSettled({ overview: jobOverview, conversation, timeoutMs, signal: abortSignalOnClose(response) });
      response.json({ settled: pending === 0, pending });
    },
  });

  const ofTenant = makeRouter(jobOperations, {
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
      response.json({ retried: await retryOf(kind, await conversationOfCaller(conversations, conversationId, response)) });
    },
  });
  return ofConversation.use(ofTenant);
}
