import { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { waitUntilSettled } from "../../memory/jobs/wait-until-settled.ts";
import type { JobOverview } from "../../stores/jobs/job-overview.ts";
import type { ConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import type { SummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import { tenantOf } from "../auth/caller.ts";
import { findConversation } from "../conversations/conversation-routes.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { parseRequest, wholeNumberField } from "../http/parse-request.ts";

const LONGEST_SETTLE_MS = 300_000;
export const SettleQuery = z.object({ timeout_ms: wholeNumberField(0, LONGEST_SETTLE_MS).default(30_000) });

export const SummaryQuery = z.object({ version: wholeNumberField(1, 999_999_999).optional() });

export interface ConversationMemoryParts {
  conversations: ConversationStore;
  summaries: SummaryStore;
  jobOverview: JobOverview;
}

/** What the memory made of one conversation: its summary, its jobs, and the wait for the jobs that are still at it. */
export function conversationMemoryRoutes({ conversations, summaries, jobOverview }: ConversationMemoryParts): Router {
  return Router()
    .get("/conversations/:id/summary", async (request, response) => {
      const { version } = parseRequest(SummaryQuery, request.query);
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const summary = await (version === undefined ? summaries.find(conversation) : summaries.findVersion(conversation, version));
      if (version !== undefined && !summary) {
        throw new AppError("not_found", `Version ${version} of this conversation's summary is not kept; only the last ones are.`);
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
    })
    .get("/conversations/:id/jobs", async (request, response) => {
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const jobs = await jobOverview.listOf({ tenantId: tenantOf(response), userId, conversationId });
      response.json({
        jobs: jobs.map(({ id, kind, state, attempts, failure, createdAt }) => {
          return { id, kind, state, attempts, error: failure, created_at: createdAt };
        }),
      });
    })
    .post("/conversations/:id/settle", async (request, response) => {
      const { timeout_ms: timeoutMs } = parseRequest(SettleQuery, request.query);
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const pending = await waitUntilSettled({ overview: jobOverview, conversation, timeoutMs, signal: abortSignalOnClose(response) });
      response.json({ settled: pending === 0, pending });
    });
}
