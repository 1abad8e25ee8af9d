import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationStore, StoredMessage } from "../../stores/postgres/conversations/conversation-store.ts";
import type { OwnedConversation } from "../../stores/owner.ts";
import { callerOf, tenantOf, withCallersUser } from "../auth/caller.ts";
import { ERASED, sendEraseReceipt } from "../memory/erase-routes.ts";
import type { AppParts } from "../http/app-parts.ts";
import { callerId, pageQuery, parseRequest, parseUuid, toPageRequest, wholeNumberField } from "../http/parse-request.ts";
import { makeRouter, operationGroup, route, time, next } from "../http/openapi/operation.ts";

const ConversationsQuery = z.object({ user_id: callerId, ...pageQuery });

const MessagesQuery = z.object({
  ...pageQuery,
  order: z.enum(["oldest_first", "newest_first"], "must be oldest_first or newest_first").default("oldest_first"),
});

const ConversationList = z.object({
  conversations: z.array(
    z.object({
      id: z.uuid(),
      session_id: z.string(),
      message_count: z.int(),
      first_message: z.string().nullable(),
      created_at: time,
      updated_at: time,
    }),
  ),
  next,
});

const Message = z.object({
  id: z.uuid(),
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  completed: z.boolean(),
  created_at: time,
  metadata: z.record(z.string(), z.unknown()),
});
const MessageList = z.object({ messages: z.array(Message), next });
const FoundMessage = z.object({ message: Message, conversation_id: z.uuid(), user_id: z.string() });

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

const toMessage = ({ id, role, content, completed, createdAt, metadata }: StoredMessage) => {
  return { id, role, content, completed, created_at: createdAt, metadata };
};

export const conversationOperations = operationGroup({
  tag: "conversations",
  schemas: { ConversationList, MessageList, FoundMessage, SummaryAnswer },
  routes: {
    listConversations: route("GET /api/v1/conversations", "A user's conversations, newest first", {
      query: ConversationsQuery,
      answer: ConversationList,
    }),
    listMessages: route(
      "GET /api/v1/conversations/:id/messages",
      "The messages of a conversation, oldest first unless `order` says otherwise",
      { query: MessagesQuery, answer: MessageList, errors: ["not_found"] },
    ),
    getMessage: route("GET /api/v1/messages/:id", "One message, and the conversation it belongs to", {
      answer: FoundMessage,
      errors: ["not_found"],
    }),
    getSummary: route(
      "GET /api/v1/conversations/:id/summary",
      "The summary of a conversation, the present one or one of the last `version`s; null before there is one",
      { query: SummaryQuery, answer: SummaryAnswer, errors: ["not_found"] },
    ),
    eraseConversation: route("DELETE /api/v1/conversations/:id", "Erases a conversation with all that came of it", {
      answers: ERASED,
      errors: ["not_found"],
    }),
  },
});

export function conversationRoutes({ stores, memory }: AppParts): Router {
  const { conversations, messages, summaries } = stores;
  return makeRouter(conversationOperations, {
    async listConversations(request, response) {
      const { user_id: userId, ...page } = parseRequest(ConversationsQuery, withCallersUser(response, request.query));
      const { items, next } = await conversations.list({ tenantId: tenantOf(response), userId }, toPageRequest(page));
      response.json({
        conversations: items.map(({ id, sessionId, messageCount, firstMessage, createdAt, updatedAt }) => {
          const times = { created_at: createdAt, updated_at: updatedAt };
          return { id, session_id: sessionId, message_count: messageCount, first_message: firstMessage, ...times };
        }),
        next,
      });
    },
    async listMessages(request, response) {
      const { order, ...given } = parseRequest(MessagesQuery, request.query);
      const page = toPageRequest(given);
      const conversation = await findConversation(conversations, request, response);
      const { items, next } = await messages.list(conversation, page, order);
      response.json({ messages: items.map(toMessage), next });
    },
    async getMessage(request, response) {
      const id = parseUuid("message id", request.params["id"]);
      const found = await messages.find(callerOf(response), id);
      if (!found) throw new AppError("not_found", `There is no message ${id}.`);
      response.json({ message: toMessage(found.message), conversation_id: found.conversationId, user_id: found.userId });
    },
    async getSummary(request, response) {
      const { version } = parseRequest(SummaryQuery, request.query);
      const conversation = await findConversation(conversations, request, response);
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
    async eraseConversation(request, response) {
      const conversationId = parseUuid("conversation id", request.params["id"]);
      const caller = callerOf(response);
      const found = await conversations.find(caller, conversationId);
      const receipt = found
        ? await memory.erase.conversation({ tenantId: caller.tenantId, userId: found.userId, conversationId })
        : await memory.erase.progress(caller, conversationId);
      if (!receipt) throw conversationNotFound(conversationId);
      sendEraseReceipt(response, receipt);
    },
  });
}

const conversationNotFound = (conversationId: string): AppError => new AppError("not_found", `There is no conversation ${conversationId}.`);

/** Throws AppError `not_found`, also for one that is not the caller's. */
export async function conversationOfCaller(conversations: ConversationStore, id: string, response: Response): Promise<OwnedConversation> {
  const conversation = await conversations.find(callerOf(response), id);
  if (!conversation) throw conversationNotFound(id);
  return { tenantId: tenantOf(response), userId: conversation.userId, conversationId: id };
}

/** The conversation in a request's path. Throws AppError `invalid_request` or `not_found`. */
export const findConversation = (conversations: ConversationStore, request: Request, response: Response): Promise<OwnedConversation> =>
  conversationOfCaller(conversations, parseUuid("conversation id", request.params["id"]), response);
