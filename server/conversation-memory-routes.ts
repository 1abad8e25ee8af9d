import { Router } from "express";
import { z } from "zod";
import { waitUntilSettled } from "../memory/jobs/wait-until-settled.ts";
import type { JobOverview } from "../stores/jobs/job-overview.ts";
import type { ConversationStore } from "../stores/postgres/conversation-store.ts";
import type { SummaryStore } from "../stores/postgres/summary-store.ts";
import { tenantOf } from "./caller.ts";
import { findConversation } from "./find-conversation.ts";
import { parseRequest } from "./parse-request.ts";
import { wholeNumberField } from "./request-fields.ts";

const LONGEST_SETTLE_MS = 300_000;
export const SettleQuery = z.object({ timeout_ms: wholeNumberField(0, LONGEST_SETTLE_MS).default(30_000) });

export interface ConversationMemoryParts {
  conversations: ConversationStore;
  summaries: SummaryStore;
  jobOverview: JobOverview;
}

/** What the memory made of one conversation: its summary, and the wait for the jobs that are still at it. */
export function conversationMemoryRoutes({ conversations, summaries, jobOverview }: ConversationMemoryParts): Router {
  return Router()
    .get("/conversations/:id/summary", async (request, response) => {
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const summary = await summaries.find({ tenantId: tenantOf(response), userId, conversationId });
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
    .post("/conversations/:id/settle", async (request, response) => {
      const { timeout_ms: timeoutMs } = parseRequest(SettleQuery, request.query);
      const { id: conversationId, userId } = await findConversation(conversations, request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const left = new AbortController();
      response.on("close", () => left.abort());
      const pending = await waitUntilSettled({ overview: jobOverview, conversation, timeoutMs, signal: left.signal });
      response.json({ settled: pending === 0, pending });
    });
}
