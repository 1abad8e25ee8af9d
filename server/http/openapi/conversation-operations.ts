import { ImportEvent, ImportResult } from "./turn-answers.ts";
import { ImportRequest } from "../../conversations/import-routes.ts";
import { BODY_ERRORS, jsonBody, type Operation } from "./operation.ts";

const tag = "conversations";

export const CONVERSATION_OPERATIONS: readonly Operation[] = [
  {
    id: "importMessages",
    method: "post",
    path: "/api/v1/conversations/import",
    tag,
    summary: "History from elsewhere: all of it, or nothing when one message is wrong, unless wrong ones are to be skipped",
    details:
      "With `Accept: text/event-stream` it tells its progress. Questions are paired with the answers behind them; a message without a partner is remembered, too.",
    body: jsonBody(ImportRequest),
    answers: {
      200: {
        what: "What was imported. As server-sent events each `data:` line is one JSON object of the schema; the last one is `done` or `error`.",
        content: { "application/json": ImportResult, "text/event-stream": ImportEvent },
      },
    },
    errors: [...BODY_ERRORS, "conversation_busy"],
  },
];
