import type { Request } from "express";
import { createHash } from "node:crypto";
import { type CompletionRequest, isSystem } from "./completion-request.ts";
import { unwrapMessage } from "./wrapped-message.ts";
import { givenValue, firstHeader, checkedId } from "../turns/named-user.ts";

/** Our own, Open WebUI's and LibreChat's. */
const SESSION_HEADERS = ["X-Session-Id", "X-OpenWebUI-Chat-Id", "X-Conversation-Id"];

/** Headers of front ends that send the whole chat with each message. */
const WITH_HISTORY = ["X-OpenWebUI-Chat-Id", "X-Conversation-Id"];

/** Whether a header names a front end that always sends earlier messages. */
export const isFrontEndWithHistory = (request: Request): boolean => firstHeader(request, WITH_HISTORY) !== undefined;

export interface Session {
  sessionId: string;
  /** What a turn does in a busy conversation: it waits, is refused, or begins another conversation. */
  whenBusy: "enqueue" | "refuse" | "another";
}

/** Open WebUI's names for chats that it does not keep. */
const TEMPORARY = /^(?:temporary|local):/;

/** Whether the person has asked to keep nothing of the chat. */
export const isTemporary = ({ sessionId }: Session): boolean => TEMPORARY.test(sessionId);

/** The session of a header, else of the metadata, or null. Throws AppError `invalid_request` for an id that is too long. */
export function namedSession(request: Request, metadata: Record<string, unknown> | null | undefined): Session | null {
  const found =
    firstHeader(request, SESSION_HEADERS) ??
    givenValue("metadata.session_id", metadata?.["session_id"]) ??
    givenValue("metadata.chat_id", metadata?.["chat_id"]);
  return found ? { sessionId: checkedId(found), whenBusy: "enqueue" } : null;
}

/** Derived from the user's first message, which clients repeat in every request. */
export function derivedSession({ messages }: Pick<CompletionRequest, "messages">): Session {
  const said = messages.filter((message) => !isSystem(message));
  const { text = "", images = [] } = said.find(({ role }) => role === "user") ?? {};
  const hash = createHash("sha256").update(unwrapMessage(text).message);
  for (const { image_url } of images) hash.update("\0").update(JSON.stringify(image_url ?? null));
  const sessionId = `chat-${hash.digest("base64url")}`;
  return { sessionId, whenBusy: said.length > 1 ? "enqueue" : "another" };
}

/** The named session, else the derived one. Throws AppError `invalid_request`. */
export function findSession(request: Request, { messages, metadata }: Pick<CompletionRequest, "messages" | "metadata">): Session {
  return namedSession(request, metadata) ?? derivedSession({ messages });
}
