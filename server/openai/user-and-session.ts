import type { Request } from "express";
import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { ANYBODY, type Caller } from "../auth/caller.ts";
import type { CompletionRequest } from "./completion-request.ts";
import { callerId, parseRequest } from "../http/parse-request.ts";

/** The headers of Open WebUI, and those for LibreChat; ids before addresses, which change. */
const USER_HEADERS = ["X-OpenWebUI-User-Id", "X-User-Id", "X-OpenWebUI-User-Email", "X-User-Email"];

/** The user of a service without keys. */
const ONLY_USER = "default";

/** The user that a request names, unchecked, for counting its requests. */
export function claimedUser(request: Request): string {
  const { user } = (request.body ?? {}) as { user?: unknown };
  return (firstHeader(request, USER_HEADERS) ?? givenValue("user", user))?.value ?? ONLY_USER;
}

/**
 * The user whose memory a completion uses: of the token, else of a forwarded header, else of the body. Throws AppError `forbidden` for
 * another user than the token's, `invalid_request` when there is none.
 */
export function findUser(request: Request, caller: Caller, user: string | null | undefined): string {
  const header = firstHeader(request, USER_HEADERS);
  const body = givenValue("user", user);
  if (caller.userId !== null) {
    for (const other of [header, body]) {
      if (other && other.value !== caller.userId)
        throw new AppError("forbidden", `${other.field}: your token belongs to another user. Leave it out, or send that user's token.`);
    }
    return caller.userId;
  }
  const found = header ?? body;
  if (found) return checkedId(found);
  if (caller === ANYBODY) return ONLY_USER;
  throw AppError.invalid([
    {
      field: "user",
      problem: "is missing; send whose memory to use as user in the body, or in the header X-OpenWebUI-User-Id or X-User-Id",
    },
  ]);
}

/** Our own, Open WebUI's, and the one for LibreChat. */
const SESSION_HEADERS = ["X-Session-Id", "X-OpenWebUI-Chat-Id", "X-Conversation-Id"];

/** A name for the chat that begins with this message. */
function derivedFrom(firstMessage: string): string {
  return `chat-${createHash("sha256").update(firstMessage).digest("base64url")}`;
}

/**
 * The session of a completion: of a header, else of the metadata, else derived from the first message of the user, which clients repeat in
 * every request. Throws AppError `invalid_request` for an id that is too long.
 */
export function findSession(request: Request, { messages, metadata }: CompletionRequest): string {
  const found =
    firstHeader(request, SESSION_HEADERS) ??
    givenValue("metadata.session_id", metadata?.["session_id"]) ??
    givenValue("metadata.chat_id", metadata?.["chat_id"]);
  if (found) return checkedId(found);
  return derivedFrom(messages.find(({ role }) => role === "user")?.text ?? "");
}

/** A value with the field or header it came in, for errors. */
export interface Given {
  field: string;
  value: string;
}

/** What front ends send for nothing: an unresolved placeholder, or a word like "null". */
const NOTHING = /^(new|null|undefined|none|\{\{.*\}\})?$/i;

/** Undefined when the value says nothing. */
export function givenValue(field: string, value: unknown): Given | undefined {
  return typeof value === "string" && !NOTHING.test(value.trim()) ? { field, value } : undefined;
}

/** The first of these headers that says something. Node reads headers as Latin-1; UTF-8 is restored. */
export function firstHeader(request: Request, names: readonly string[]): Given | undefined {
  for (const name of names) {
    const raw = request.get(name);
    const bytes = Buffer.from(raw ?? "", "latin1");
    const found = givenValue(name, isUtf8(bytes) ? bytes.toString("utf8") : raw);
    if (found) return found;
  }
  return undefined;
}

/** Checks an id. Throws AppError `invalid_request` that names its field. */
export function checkedId({ field, value }: Given): string {
  parseRequest(z.object({ [field]: callerId }), { [field]: value });
  return value;
}
