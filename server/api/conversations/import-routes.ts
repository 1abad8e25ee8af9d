import type { Response, Router } from "express";
import { z } from "zod";
import type { ImportProgress } from "../../../stores/postgres/conversations/import-store.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";
import { AppError, type Problem, toAppError } from "../../../errors/app-error.ts";
import type { Config } from "../../settings/config.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import type { Limits } from "../../limits/open-limits.ts";
import { readJson, requireJson } from "../../http/read-body.ts";
import { tenantOf, withCallersUser } from "../../auth/caller.ts";
import { openEventStream } from "../../http/event-stream.ts";
import { userInBody } from "../../limits/rate-limits.ts";
import { callerId, metadata, parseRequest, storableText, toProblems } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, jsonBody } from "../../http/operation.ts";
import { event } from "../../../turn/events.ts";
import { TurnError } from "../../../turn/state.ts";

const MAX_IMPORTED_MESSAGES = 10_000;
/** The most listed problems of one message. */
const MAX_PROBLEMS = 5;
/** For wrong clocks and time zones. A later message would stand after everything said until then. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1_000;

export const importedText = storableText.refine((text) => text.trim() !== "", "is blank; leave the message out").meta({ minLength: 1 });

const Message = z.strictObject(
  {
    role: z.enum(["user", "assistant"], "must be user or assistant"),
    content: importedText,
    created_at: z.iso
      .datetime({ offset: true, error: "must be a time like 2026-01-31T12:00:00Z" })
      .transform((text) => new Date(text))
      .refine((time) => time.getUTCFullYear() >= 1000 && time.getUTCFullYear() < 9000, "must be in the years 1000 to 8999")
      .refine((time) => time.getTime() <= Date.now() + MAX_AHEAD_MS, "is more than a day ahead of now; send when it was said")
      .optional(),
    metadata,
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be an object with role and content" : undefined) },
);

function requestOf<Sent extends z.ZodType>(message: Sent) {
  return z.strictObject(
    {
      user_id: callerId,
      session_id: callerId,
      messages: z
        .array(message, "must be an array of messages")
        .min(1, "is empty; send at least one message")
        .max(MAX_IMPORTED_MESSAGES, `has more than ${MAX_IMPORTED_MESSAGES} messages; send them in several calls`),
      on_invalid: z
        .enum(["refuse", "skip"], 'must be "refuse" or "skip"')
        .default("refuse")
        .describe("What becomes of the others when messages are wrong: none is imported, or all of them."),
    },
    { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with user_id, session_id and messages" : undefined) },
  );
}

const ImportRequest = requestOf(Message);
const AnyMessages = requestOf(z.unknown());

/** A wrong message of an import; `index` counts from 0. */
interface InvalidMessage extends Problem {
  index: number;
}

function lengthProblem({ content }: { content: string }, maxMessageChars: number, field: string): Problem[] {
  const characters = content.length > maxMessageChars ? [...content].length : 0;
  if (characters <= maxMessageChars) return [];
  return [{ field, problem: `has ${characters} characters, at most ${maxMessageChars} are taken` }];
}

/** Throws AppError `invalid_request` that names each wrong message, unless they may be skipped and others are left. */
export function parseImportRequest(body: unknown, maxMessageChars: number) {
  const { user_id: userId, session_id: sessionId, messages: sent, on_invalid: onInvalid } = parseRequest(AnyMessages, body);
  const messages: MessageToImport[] = [];
  const invalid: InvalidMessage[] = [];
  sent.forEach((given, index) => {
    const parsed = Message.safeParse(given);
    const problems = parsed.success
      ? lengthProblem(parsed.data, maxMessageChars, `messages.${index}.content`)
      : parsed.error.issues.flatMap((issue) => toProblems(issue, ["messages", index]));
    invalid.push(...problems.slice(0, MAX_PROBLEMS).map((problem) => ({ index, ...problem })));
    if (!parsed.success || problems.length > 0) return;
    const { role, content, created_at, metadata: kept } = parsed.data;
    messages.push({ role, content, createdAt: created_at ?? null, metadata: kept });
  });
  if (invalid.length > 0 && (onInvalid === "refuse" || messages.length === 0)) throw AppError.invalid(invalid);
  return { userId, sessionId, messages, invalid };
}

const MAX_IMPORT_BYTES = 64 * 1024 * 1024;

const EXCHANGES =
  "Exchanges that the new messages belong to: a question with its answer, which may have been there, or a message without a partner.";
const ImportResult = z.object({
  conversation_id: z.uuid(),
  imported: z.int(),
  skipped: z.int().describe("Messages whose metadata.external_id was imported before."),
  exchanges: z.int().describe(EXCHANGES),
  invalid: z
    .array(z.object({ index: z.int(), field: z.string(), problem: z.string() }))
    .describe('Messages that are wrong and were left out with `"on_invalid": "skip"`, and why; `index` counts from 0.'),
});
type ImportResult = z.infer<typeof ImportResult>;
const ImportEvent = z.discriminatedUnion("status", [
  event("progress", z.object({ done: z.int(), total: z.int(), exchanges: z.int().describe("Those made so far.") })),
  event("done", ImportResult),
  event("error", TurnError),
]);
type ImportEvent = z.infer<typeof ImportEvent>;

export const importOperations = operationGroup({
  tag: "conversations",
  schemas: { ImportRequest, ImportResult, ImportEvent },
  routes: {
    importMessages: route(
      "POST /api/v1/conversations/import",
      "History from elsewhere: all of it, or nothing when one message is wrong, unless wrong ones are to be skipped",
      {
        details:
          "With `Accept: text/event-stream` it tells its progress. Questions are paired with the answers behind them; a message without a partner is remembered, too.",
        body: jsonBody(ImportRequest),
        answers: {
          200: {
            what: "What was imported. As server-sent events each `data:` line is one JSON object of the schema; the last one is `done` or `error`.",
            content: { "application/json": ImportResult, "text/event-stream": ImportEvent },
          },
        },
        errors: ["conversation_busy"],
      },
    ),
  },
});

/** Sends progress as server-sent events, and the result or error last. */
async function streamProgress(
  response: Response,
  { total, heartbeatMs }: { total: number; heartbeatMs: number },
  run: (onProgress: (progress: ImportProgress) => void) => Promise<ImportResult>,
): Promise<void> {
  using stream = openEventStream(response, { heartbeatMs });
  let id = 0;
  let sent = Promise.resolve();
  const send = (event: ImportEvent): void => {
    sent = sent.then(() => stream.send([{ id: String(++id), data: JSON.stringify(event) }]));
  };
  try {
    const content = await run(({ done, exchanges }) => send({ status: "progress", content: { done, total, exchanges } }));
    send({ status: "done", content });
  } catch (error) {
    send({ status: "error", content: toAppError(error).toContent() });
  }
  await sent; // a long list of invalid messages waits until the client has read
  stream.end();
}

export function importRoutes({
  config,
  stores,
  memory,
  limits,
  heartbeatMs,
}: {
  config: Config;
  stores: Pick<Stores, "imports">;
  memory: Memory;
  limits: Limits;
  heartbeatMs: number;
}): Router {
  return makeRouter(importOperations, {
    importMessages: [
      requireJson,
      readJson(MAX_IMPORT_BYTES),
      limits.rates.ofUser(userInBody),
      async (request, response) => {
        const given = withCallersUser(response, request.body);
        const { userId, sessionId, messages, invalid } = parseImportRequest(given, config.MAX_MESSAGE_CHARS);
        const conversation = { tenantId: tenantOf(response), userId, sessionId };
        const run = async (onProgress: (progress: ImportProgress) => void): Promise<ImportResult> => {
          const asked = { ...conversation, messages, jobKinds: memory.jobKinds, onProgress };
          const { conversationId, imported, skipped, exchanges } = await stores.imports.import(asked);
          return { conversation_id: conversationId, imported, skipped, exchanges, invalid };
        };
        if (request.accepts(["application/json", "text/event-stream"]) === "text/event-stream") {
          return streamProgress(response, { total: messages.length, heartbeatMs }, run);
        }
        response.json(await run(() => undefined));
      },
    ],
  });
}
