import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { waitUntilSettled } from "../../memory/jobs/wait-until-settled.ts";
import type { Stores } from "../start/open-stores.ts";
import { tenantOf } from "../auth/caller.ts";
import { findConversation } from "../conversations/conversation-routes.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { parseRequest, wholeNumberField } from "../http/parse-request.ts";
import { makeRouter, operationGroup, route, time } from "../http/openapi/operation.ts";
import { jobKind, jobState, jobError } from "./job-routes.ts";

const LONGEST_SETTLE_MS = 300_000;
const SettleQuery = z.object({ timeout_ms: wholeNumberField(0, LONGEST_SETTLE_MS).default(30_000) });

const SummaryQuery = z.object({ version: wholeNumberField(1, 999_999_999).optional() });

const SummaryAnswer = z.object({
  summary: z
    .object({
      text: z.string(),
      version: z.int(),
      covered_message_count: z.int(),
      covered_through: z.object({ created_at: time, message_id: z.uuid() }).describe("The last message that it stands for."),
      updated_at: time,
    })
    .nullable(),
});
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

export const conversationMemoryOperations = operationGroup({
  tag: "conversations",
  schemas: { SummaryAnswer, SettleAnswer, ConversationJobs },
  routes: {
    getSummary: route(
      "GET /api/v1/conversations/:id/summary",
      "The summary of a conversation, the present one or one of the last `version`s; null before there is one",
      { query: SummaryQuery, answer: SummaryAnswer, errors: ["not_found"] },
    ),
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

export function summaryRoutes({ stores }: { stores: Stores }): Router {
  const { conversations, summaries, jobs: jobOverview } = stores;
  return makeRouter(conversationMemoryOperations, {
    async getSummary(request, response) {
      const { version } = parseRequest(SummaryQuery, request.query);
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const summary = await (version === undefined ? summaries.find(conversation) : summaries.findVersion(conversation, version));
      if (version !== undefined && !summary) {
        throw new AppError("not_found", `Version ${version} of this conversation's summary is not kept. Only the latest versions are.`);
      }
      response.json({
        summary: summary && {
          text: summary.text,
          version: summary.version,
          covered_message_count: summary.coveredMessageCount,
          covered_through: { created_at: summary.coveredThrough.createdAt, message_id: summary.coveredThrough.id },
          updated_at: summary.updatedAt,
        },
      });
    },
    async listConversationJobs(request, response) {
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const jobs = await jobOverview.listOf({ tenantId: tenantOf(response), userId, conversationId });
      response.json({
        jobs: jobs.map(({ id, kind, state, attempts, failure, createdAt }) => {
          return { id, kind, state, attempts, error: failure, created_at: createdAt };
        }),
      });
    },
    async settleConversation(request, response) {
      const { timeout_ms: timeoutMs } = parseRequest(SettleQuery, request.query);
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const pending = await waitUntilSettled({ overview: jobOverview, conversation, timeoutMs, signal: abortSignalOnClose(response) });
      response.json({ settled: pending === 0, pending });
    },
  });
}
