import { z } from "zod";
import { callerId } from "./parse-request.ts";

/** An event's number, the characters of the answer before it, and the last eight digits of its turn. */
export const EVENT_ID = /^(\d{1,9})\.(\d{1,9})(?:\.([0-9a-f]{8}))?$/;
/** Printable ASCII without the space. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7E]{1,200}$/;

export const REQUEST_HEADERS = {
  "Idempotency-Key": {
    schema: z.string().regex(IDEMPOTENCY_KEY),
    what: "A retry with the same key and body is the same turn: it is replayed, or followed while it runs. With another body: 422.",
  },
  "Last-Event-ID": {
    schema: z.string().regex(EVENT_ID),
    what: "The id of the last event that arrived, unchanged; the stream goes on behind it.",
  },
  "If-Match": {
    schema: z.string(),
    what: 'The version that may be replaced, in quotes: "3". With another one there: 409 `stale_version`.',
  },
  "If-None-Match": { schema: z.literal("*"), what: "Writes only where nothing is yet." },
  "X-Session-Id": {
    schema: callerId,
    what: "The conversation; X-OpenWebUI-Chat-Id and X-Conversation-Id are read, too. Without one: by the first message.",
  },
  "X-Branching": {
    schema: z.enum(["on", "off"]),
    what: "`off`: the message goes on at the end of the conversation, whatever the request has of earlier messages.",
  },
  "X-Interactive": {
    schema: z.enum(["true", "false"]),
    what: "`false`: nobody can be asked, and calls that need permission are not run. Else a question is the answer, and the next message its reply.",
  },
  "X-User-Id": {
    schema: callerId,
    what: "Whose memory is used, unless the token says; X-OpenWebUI-User-Id, X-OpenWebUI-User-Email and X-User-Email are read, too, and `user` of the body.",
  },
} as const;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

export const ANSWER_HEADERS = {
  "X-Request-Id": { schema: z.string(), what: "Names this request in the log of the service." },
  "X-Turn-Id": { schema: z.uuid(), what: "The turn: read its stream again, or cancel it, by this id." },
  Location: { schema: z.string(), what: "Of a large erase: where its progress can be read." },
  ETag: { schema: z.string(), what: "The version, for If-Match." },
  "Retry-After": { schema: z.int().min(0), what: "Seconds after which the same request may succeed." },
  "WWW-Authenticate": { schema: z.string(), what: "Bearer." },
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;
