import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { StoredSummary } from "../../../stores/postgres/memory/summary-store.ts";
import { SummaryParts } from "../../../turn/summary-parts.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { CompactConversation } from "../../../memory/summary/summarise-conversation.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { jsonBody, makeRouter, operationGroup, route, time } from "../../http/operation.ts";
import { parseRequest, wholeNumberField } from "../../http/parse-request.ts";
import { findConversation } from "./conversation-routes.ts";

const MOST_VERSIONS = 999_999_999;
const SummaryQuery = z.object({ version: wholeNumberField(1, MOST_VERSIONS).optional() });

const RevertBody = z.strictObject({
  version: z
    .int("must be a whole number")
    .min(1, "must be 1 or more")
    .max(MOST_VERSIONS, `must be ${MOST_VERSIONS} or less`)
    .describe("One of the versions that are kept."),
});

const list = z.array(z.string());
const ShownParts = z.object({
  ...Object.fromEntries(Object.entries(SummaryParts.shape).map(([name, { description = "" }]) => [name, list.describe(description)])),
  core_goal: z.string().describe(SummaryParts.shape.core_goal.description ?? ""),
});

const Summary = z.object({
  text: z.string(),
  version: z.int(),
  covered_message_count: z.int(),
  covered_through: z.object({ created_at: time, message_id: z.uuid() }).describe("The last message that it stands for."),
  parts: ShownParts.nullable().describe("What it says, in eight parts. Null until the context was compacted."),
  updated_at: time,
});

const SummaryAnswer = z.object({ summary: Summary.nullable() });
const CompactAnswer = SummaryAnswer.extend({ compacted: z.boolean().describe("False: there was nothing before the window.") });

export const summaryOperations = operationGroup({
  tag: "conversations",
  schemas: { SummaryAnswer, CompactAnswer, RevertSummary: RevertBody },
  routes: {
    getSummary: route(
      "GET /api/v1/conversations/:id/summary",
      "The summary of a conversation, the present one or one of the last `version`s; null before there is one",
      { query: SummaryQuery, answer: SummaryAnswer, errors: ["not_found"] },
    ),
    compactConversation: route(
      "POST /api/v1/conversations/:id/compact",
      "Summarises all messages before the window now, with parts; nothing is deleted",
      { answer: CompactAnswer, errors: ["not_found", "model_unavailable", "unsupported_media_type"] },
    ),
    revertSummary: route(
      "POST /api/v1/conversations/:id/summary/revert",
      "Makes an earlier version of the summary the newest again; messages that it does not cover are in the window until they are summarised",
      { body: jsonBody(RevertBody), answer: SummaryAnswer, errors: ["not_found"] },
    ),
  },
});

function toShown({ text, version, coveredMessageCount, coveredThrough, parts, updatedAt }: StoredSummary): z.infer<typeof Summary> {
  return {
    text,
    version,
    covered_message_count: coveredMessageCount,
    covered_through: { created_at: coveredThrough.createdAt.toISOString(), message_id: coveredThrough.id },
    parts,
    updated_at: updatedAt.toISOString(),
  };
}

const versionNotKept = (version: number): AppError =>
  new AppError("not_found", `Version ${version} of this conversation's summary is not kept. Only the latest versions are.`);

export function summaryRoutes({
  stores: { conversations, summaries },
  compact,
}: {
  stores: Pick<Stores, "conversations" | "summaries">;
  compact: CompactConversation | null;
}): Router {
  return makeRouter(summaryOperations, {
    async getSummary(request, response) {
      const { version } = parseRequest(SummaryQuery, request.query);
      const conversation = await findConversation(conversations, request, response);
      const summary = await (version === undefined ? summaries.find(conversation) : summaries.findVersion(conversation, version));
      if (version !== undefined && !summary) throw versionNotKept(version);
      response.json({ summary: summary && toShown(summary) });
    },
    async compactConversation(request, response) {
      const conversation = await findConversation(conversations, request, response);
      const compacted = await compact?.(conversation, abortSignalOnClose(response));
      const summary = compacted ?? (await summaries.find(conversation));
      response.json({ compacted: Boolean(compacted), summary: summary && toShown(summary) });
    },
    async revertSummary(request, response) {
      const { version } = parseRequest(RevertBody, request.body);
      const conversation = await findConversation(conversations, request, response);
      const summary = await summaries.revert(conversation, version);
      if (!summary) throw versionNotKept(version);
      response.json({ summary: toShown(summary) });
    },
  });
}
