import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { MessageToImport } from "../stores/postgres/import-store.ts";
import { parseRequest } from "./parse-request.ts";
import { callerId, metadata, storableText } from "./request-fields.ts";

export const MAX_IMPORTED_MESSAGES = 10_000;
/** Problems that one answer lists. */
const MAX_PROBLEMS = 50;

/** A message; how long it may be is configured. */
export const importedText = storableText.refine((text) => text.trim() !== "", "is blank; leave the message out").meta({ minLength: 1 });

const Message = z.strictObject(
  {
    role: z.enum(["user", "assistant"], "must be user or assistant"),
    content: importedText,
    created_at: z.iso
      .datetime({ offset: true, error: "must be a time like 2026-01-31T12:00:00Z" })
      .transform((text) => new Date(text))
      .refine((time) => time.getUTCFullYear() >= 1000 && time.getUTCFullYear() < 9000, "must be in the years 1000 to 8999")
      .optional(),
    metadata,
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be an object with role and content" : undefined) },
);

export const ImportRequest = z.strictObject(
  {
    user_id: callerId,
    session_id: callerId,
    messages: z
      .array(Message, "must be an array of messages")
      .min(1, "is empty; send at least one message")
      .max(MAX_IMPORTED_MESSAGES, `has more than ${MAX_IMPORTED_MESSAGES} messages; send them in several calls`),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with user_id, session_id and messages" : undefined) },
);

export interface ImportBody {
  userId: string;
  sessionId: string;
  messages: MessageToImport[];
}

/** Characters are counted one by one only where a text could have too many. */
function assertShortEnough(messages: readonly { content: string }[], maxMessageChars: number): void {
  const problems = messages.flatMap(({ content }, index) => {
    const characters = content.length > maxMessageChars ? [...content].length : 0;
    if (characters <= maxMessageChars) return [];
    return [{ field: `messages.${index}.content`, problem: `has ${characters} characters, at most ${maxMessageChars} are taken` }];
  });
  if (problems.length > 0) throw AppError.invalid(problems.slice(0, MAX_PROBLEMS));
}

/** The body of an import. Throws AppError `invalid_request` that names each field that is wrong: then nothing is imported. */
export function parseImportRequest(body: unknown, maxMessageChars: number): ImportBody {
  const { user_id: userId, session_id: sessionId, messages } = parseRequest(ImportRequest, body);
  assertShortEnough(messages, maxMessageChars);
  return {
    userId,
    sessionId,
    messages: messages.map(({ role, content, created_at, metadata: kept }) => ({
      role,
      content,
      createdAt: created_at ?? null,
      metadata: kept,
    })),
  };
}
