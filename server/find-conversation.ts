import type { Request, Response } from "express";
import { AppError } from "../errors/app-error.ts";
import type { ConversationStore, StoredConversation } from "../stores/postgres/conversation-store.ts";
import { callerOf } from "./caller.ts";
import { parseUuid } from "./request-fields.ts";

export function conversationNotFound(conversationId: string): AppError {
  return new AppError("not_found", `There is no conversation ${conversationId}.`);
}

/** Throws AppError `not_found`, for one that is not the caller's, too. */
export async function conversationOfCaller(conversations: ConversationStore, id: string, response: Response): Promise<StoredConversation> {
  const conversation = await conversations.find(callerOf(response), id);
  if (!conversation) throw conversationNotFound(id);
  return conversation;
}

/** The conversation in a request's path. Throws AppError `invalid_request` for what is no UUID, and what `conversationOfCaller` throws. */
export async function findConversation(
  conversations: ConversationStore,
  request: Request,
  response: Response,
): Promise<StoredConversation> {
  return conversationOfCaller(conversations, parseUuid("conversation id", request.params["id"]), response);
}
