import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { tenantOf } from "../auth/caller.ts";
import { findConversation } from "../conversations/conversation-routes.ts";
import type { AppParts } from "../http/app-parts.ts";
import { parseRequest, wholeNumberField } from "../http/parse-request.ts";
import { makeRouter, operationGroup, route, time } from "../http/openapi/operation.ts";

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
export const summaryOperations = operationGroup({
  tag: "conversations",
  schemas: { SummaryAnswer },
  routes: {
    getSummary: route(
      "GET /api/v1/conversations/:id/summary",
      "The summary of a conversation, the present one or one of the last `version`s; null before there is one",
      { query: SummaryQuery, answer: SummaryAnswer, errors: ["not_found"] },
    ),
  },
});

export function summaryRoutes({ stores }: AppParts): Router {
  const { conversations, summaries } = stores;
  return makeRouter(summaryOperations, {
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
  });
}
