import { Router, type Request, type Response } from "express";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { ConversationStore, StoredConversation } from "../stores/postgres/conversation-store.ts";
import type { MessageStore } from "../stores/postgres/message-store.ts";
import { tenantOf } from "./authenticate.ts";
import { parseRequest } from "./parse-request.ts";
import { callerId, pageQuery, parseUuid, toPageRequest } from "./request-fields.ts";

const ConversationsQuery = z.object({ user_id: callerId, ...pageQuery });
const MessagesQuery = z.object(pageQuery);

/** Listing a user's conversations, listing and deleting one of them. */
export function conversationRoutes({ conversations, messages }: { conversations: ConversationStore; messages: MessageStore }): Router {
  async function findConversation(request: Request, response: Response): Promise<StoredConversation> {
    const id = parseUuid("conversation id", request.params["id"]);
    const conversation = await conversations.find(tenantOf(response), id);
    if (!conversation) throw new AppError("not_found", `There is no conversation ${id}.`);
    return conversation;
  }

  return Router()
    .get("/conversations", async (request, response) => {
      const { user_id: userId, ...page } = parseRequest(ConversationsQuery, request.query);
      const { items, next } = await conversations.list({ tenantId: tenantOf(response), userId }, toPageRequest(page));
      response.json({
        conversations: items.map(({ id, sessionId, messageCount, createdAt, updatedAt }) => {
          return { id, session_id: sessionId, message_count: messageCount, created_at: createdAt, updated_at: updatedAt };
        }),
        next,
      });
    })
    .get("/conversations/:id/messages", async (request, response) => {
      const page = toPageRequest(parseRequest(MessagesQuery, request.query));
      const { id: conversationId, userId } = await findConversation(request, response);
      const { items, next } = await messages.list({ tenantId: tenantOf(response), userId, conversationId }, page);
      response.json({
        messages: items.map(({ id, role, content, completed, createdAt, metadata }) => ({
          id,
          role,
          content,
          completed,
          created_at: createdAt,
          metadata,
        })),
        next,
      });
    })
    .delete("/conversations/:id", async (request, response) => {
      const { id: conversationId, userId } = await findConversation(request, response);
      const erased = await conversations.erase({ tenantId: tenantOf(response), userId, conversationId });
      if (!erased) throw new AppError("not_found", `There is no conversation ${conversationId}.`);
      response.json({
        erased: { messages: erased.messages, summaries: 0, episodes: 0, core_memory_sections: 0, memory_operations: 0, jobs: 0 },
      });
    });
}
