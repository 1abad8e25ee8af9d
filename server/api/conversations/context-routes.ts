import type { Router } from "express";
import { z } from "zod";
import { NEAR_LIMIT, SATURATED, shareOf } from "../../../models/facts/prompt-budget.ts";
import { readConversationUsage } from "../../../stores/postgres/conversations/conversation-usage.ts";
import { PromptTokens } from "../../../turn/state.ts";
import { Cost } from "../../../turn/usage.ts";
import { callerOf } from "../../auth/caller.ts";
import type { Config } from "../../settings/config.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Agents } from "../../parts/open-agents.ts";
import type { PromptLimits } from "../../../models/facts/prompt-limits.ts";
import type { PreviewPrompt } from "../../../graph/preview-prompt.ts";
import { makeRouter, operationGroup, route } from "../../http/operation.ts";
import { modelNames } from "../../parts/open-models.ts";
import { assertKnown } from "../../turns/chat-request.ts";
import { assertNotTooLong, chatMessage, ChatRequest } from "../../turns/chat-request.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import { parseRequest, parseUuid } from "../../http/parse-request.ts";
import { conversationNotFound } from "./conversation-routes.ts";
import { NextPrompt, toNextPrompt } from "./next-prompt.ts";

const ContextQuery = z.object({
  message: chatMessage
    .optional()
    .describe("What the user would say next: the answer then has `next_prompt`. No model is asked and nothing stored."),
  agent: ChatRequest.shape.agent,
  kb_prefix: ChatRequest.shape.kb_prefix,
});

const Context = z.object({
  model: z.string().describe("The model of the next turn."),
  context_limit: z.int().describe("The most tokens of a prompt: of the last one, or of the next before there was one."),
  usage_ratio: z.number().describe("The share of it that the last prompt took."),
  prompt_tokens: z.int().describe("Of all turns, as are `completion_tokens`, `cached_tokens` and `cost`."),
  completion_tokens: z.int(),
  cached_tokens: z.int(),
  total_tokens: z.int(),
  remaining_tokens: z.int().describe("What the last prompt left of the limit."),
  cost: Cost.describe("Of the turns whose cost is known; null when there is none."),
  unpriced_turns: z.int().describe("Turns whose cost is not known."),
  parts: PromptTokens.nullable().describe("Of the last prompt, estimated. Null before the first."),
  warned: z.boolean().describe(`The last prompt took ${NEAR_LIMIT * 100} % of the limit or more.`),
  saturated: z.boolean().describe(`It took ${SATURATED * 100} % or more.`),
  next_prompt: NextPrompt.optional().describe("With `message`: what its prompt would be made of."),
});

export const contextOperations = operationGroup({
  tag: "conversations",
  schemas: { Context },
  routes: {
    getContext: route("GET /api/v1/conversations/:id/context", "How full the context of a conversation is, and what its turns have used", {
      query: ContextQuery,
      answer: Context,
      errors: ["not_found", "message_too_long"],
    }),
  },
});

export function contextRoutes({
  config,
  stores,
  agents,
  promptLimits,
  previewPrompt,
}: {
  config: Config;
  stores: Pick<Stores, "conversations" | "database" | "knowledgeBases">;
  agents: Agents;
  promptLimits: PromptLimits;
  previewPrompt: PreviewPrompt;
}): Router {
  return makeRouter(contextOperations, {
    async getContext(request, response) {
      const { message, agent, kb_prefix } = parseRequest(ContextQuery, request.query);
      const conversationId = parseUuid("conversation id", request.params["id"]);
      const caller = callerOf(response);
      const found = await stores.conversations.find(caller, conversationId);
      if (!found) throw conversationNotFound(conversationId);
      const { userId, sessionId } = found;
      const conversation = { tenantId: caller.tenantId, userId, conversationId };
      if (message !== undefined) assertNotTooLong("message", [message], config.MAX_MESSAGE_CHARS);
      if (message !== undefined) await assertKnown({ stores, agents }, caller.tenantId, { kb_prefix, agent });
      const asked = { ...conversation, sessionId, requestedAgent: agent, requestedKbPrefix: kb_prefix };
      const [used, next] = await Promise.all([
        readConversationUsage(stores.database, conversation),
        message === undefined ? null : previewPrompt({ ...asked, message }, abortSignalOnClose(response)),
      ]);
      const model = modelNames(config).chat;
      const { tokens, limit, parts } = used.lastPrompt ?? { tokens: 0, limit: promptLimits.of(model), parts: null };
      const ratio = shareOf(tokens, limit);
      response.json({
        model,
        context_limit: limit,
        usage_ratio: ratio,
        prompt_tokens: used.promptTokens,
        completion_tokens: used.completionTokens,
        cached_tokens: used.cachedTokens,
        total_tokens: used.promptTokens + used.completionTokens,
        remaining_tokens: Math.max(0, limit - tokens),
        cost: used.inputUsd === null || used.outputUsd === null ? null : { input_usd: used.inputUsd, output_usd: used.outputUsd },
        unpriced_turns: used.unpricedTurns,
        parts,
        warned: ratio >= NEAR_LIMIT,
        saturated: ratio >= SATURATED,
        ...(next ? { next_prompt: toNextPrompt(next) } : {}),
      });
    },
  });
}
