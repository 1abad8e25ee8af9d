import { createHash } from "node:crypto";
import type { Request } from "express";
import type { CompletionRequest } from "./completion-request.ts";
import { checkedId, firstHeader, given } from "./forwarded-header.ts";

/** Our own, Open WebUI's, and the one that LibreChat is told to send. */
const SESSION_HEADERS = ["X-Session-Id", "X-OpenWebUI-Chat-Id", "X-Conversation-Id"];

/** A name for the chat that begins with this message. */
function derivedFrom(firstMessage: string): string {
  return `chat-${createHash("sha256").update(firstMessage).digest("base64url")}`;
}

/**
 * Which conversation of the user a completion belongs to: the header's, else the metadata's, else one of its own for each first message of
 * the user, which clients that send whole histories repeat in every request. Throws AppError `invalid_request` for an id that is too long.
 */
export function sessionOfCompletion(request: Request, { messages, metadata }: CompletionRequest): string {
  const found =
    firstHeader(request, SESSION_HEADERS) ??
    given("metadata.session_id", metadata?.["session_id"]) ??
    given("metadata.chat_id", metadata?.["chat_id"]);
  if (found) return checkedId(found);
  return derivedFrom(messages.find(({ role }) => role === "user")?.text ?? "");
}
