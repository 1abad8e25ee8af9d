import type { ErrorCode } from "../../../errors/error-codes.ts";
import { ChatRequest } from "../../turns/chat-request.ts";
import { BODY_ERRORS, jsonAnswer, jsonBody, type Operation } from "./operation.ts";
import { CancelledTurn, Turn, TurnEvent, TurnResult } from "./turn-answers.ts";

/** What a model can fail with. */
export const MODEL_ERRORS = [
  "model_unavailable",
  "model_rate_limited",
  "model_refused",
  "model_first_token_timeout",
  "model_stalled",
  "model_interrupted",
  "model_incomplete",
  "model_bad_response",
] as const satisfies readonly ErrorCode[];

/** What a turn can be refused with before it begins. */
export const START_ERRORS = [
  ...BODY_ERRORS,
  "message_too_long",
  "conversation_busy",
  "idempotency_mismatch",
  "too_many_turns",
  "token_quota_exceeded",
  "overloaded",
  "shutting_down",
] as const satisfies readonly ErrorCode[];

const EVENTS =
  "Server-sent events: each `data:` line is one JSON object of this schema, each event has an `id:`. The last one is exactly one `done` or `error`.";

const stream = { what: EVENTS, content: { "text/event-stream": TurnEvent }, headers: ["X-Turn-Id"] } as const;

const BEGUN_ERRORS = ["turn_cancelled", "turn_superseded", "turn_interrupted", "turn_gone"] as const satisfies readonly ErrorCode[];

const tag = "turns";

export const TURN_OPERATIONS: readonly Operation[] = [
  {
    id: "streamTurn",
    method: "post",
    path: "/api/v1/chat/stream",
    tag,
    summary: "One turn, streamed",
    headers: ["Idempotency-Key", "Last-Event-ID"],
    body: jsonBody(ChatRequest),
    answers: { 200: stream },
    errors: [...START_ERRORS, ...MODEL_ERRORS, ...BEGUN_ERRORS],
  },
  {
    id: "runTurn",
    method: "post",
    path: "/api/v1/chat",
    tag,
    summary: "One turn, answered when it is done",
    headers: ["Idempotency-Key"],
    body: jsonBody(ChatRequest),
    answers: { 200: jsonAnswer(TurnResult, "The content of `done`.", ["X-Turn-Id"]) },
    errors: [...START_ERRORS, ...MODEL_ERRORS, ...BEGUN_ERRORS],
  },
  {
    id: "getTurn",
    method: "get",
    path: "/api/v1/turns/:id",
    tag,
    summary: "A turn: whether it runs, and what came of it",
    answers: { 200: jsonAnswer(Turn) },
    errors: ["not_found", "turn_gone"],
  },
  {
    id: "resumeTurn",
    method: "get",
    path: "/api/v1/turns/:id/stream",
    tag,
    summary: "The events of a turn, from the first or behind the last one that arrived",
    headers: ["Last-Event-ID"],
    answers: { 200: stream },
    errors: ["not_found", "turn_gone"],
  },
  {
    id: "cancelTurn",
    method: "post",
    path: "/api/v1/turns/:id/cancel",
    tag,
    summary: "Stops a turn, whichever process runs it; what there is of the answer is kept",
    answers: { 200: jsonAnswer(CancelledTurn) },
    errors: ["not_found", "unsupported_media_type"],
  },
];
