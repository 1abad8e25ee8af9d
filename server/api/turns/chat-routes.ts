import type { Request, Response, Router } from "express";
import { AppError, toAppError } from "../../../errors/app-error.ts";
import { tenantOf, withCallersUser } from "../../auth/caller.ts";
import { assertKnown } from "../../turns/chat-request.ts";
import { ChatBody, parseChatBody } from "../../turns/chat-request.ts";
import { BEGINNING, parseLastEventId, sendTurnStream, turnStream } from "../../turns/turn-stream.ts";
import type { Config } from "../../settings/config.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Agents } from "../../parts/open-agents.ts";
import type { Models } from "../../parts/open-models.ts";
import type { Turns } from "../../turns/open-turn.ts";
import { abortSignalOnClose } from "../../http/event-stream.ts";
import type { TurnSource } from "../../turns/turn-source.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route } from "../../http/operation.ts";
import { TurnEvent, TurnResult, Waiting } from "../../../turn/events.ts";
import { Layer, Receipt, RouteDecision, TurnError } from "../../../turn/state.ts";
import { TurnUsage } from "../../../turn/usage.ts";
import type { ErrorCode } from "../../../errors/error-codes.ts";

export const MODEL_ERRORS = [
  "context_too_long",
  "model_unavailable",
  "model_rate_limited",
  "model_quota",
  "model_unauthorized",
  "model_not_found",
  "model_refused",
  "model_parameter_refused",
  "model_cannot_see",
  "model_first_token_timeout",
  "model_stalled",
  "model_interrupted",
  "model_incomplete",
  "model_filtered",
  "model_out_of_tokens",
  "model_bad_response",
  "model_malformed",
] as const satisfies readonly ErrorCode[];

export const START_ERRORS = [
  "message_too_long",
  "picture_too_large",
  "conversation_busy",
  "conversation_waiting",
  "idempotency_mismatch",
  "too_many_turns",
  "token_quota_exceeded",
  "cost_quota_exceeded",
  "overloaded",
  "shutting_down",
] as const satisfies readonly ErrorCode[];

const errors = [
  "not_found",
  ...START_ERRORS,
  ...MODEL_ERRORS,
  "question_unanswered",
  "turn_cancelled",
  "turn_superseded",
  "turn_interrupted",
  "turn_gone",
] as const;

export const chatOperations = operationGroup({
  tag: "turns",
  schemas: { ChatRequest: ChatBody, TurnEvent, TurnResult, Waiting, RouteDecision, Receipt, Usage: TurnUsage, Layer, TurnError },
  routes: {
    streamTurn: route("POST /api/v1/chat/stream", "One turn, streamed", {
      headers: ["Idempotency-Key", "Last-Event-ID"],
      body: jsonBody(ChatBody),
      answers: { 200: turnStream },
      errors,
    }),
    runTurn: route("POST /api/v1/chat", "One turn, answered when it is done", {
      headers: ["Idempotency-Key"],
      body: jsonBody(ChatBody),
      answers: {
        200: jsonAnswer(TurnResult, "The content of `done`.", ["X-Turn-Id"]),
        202: jsonAnswer(Waiting, "The content of `waiting`: the turn goes on when its question is answered.", ["X-Turn-Id"]),
      },
      errors,
    }),
  },
});

/** A refusal names no turn, unless its message may have been stored. */
async function untilAccepted(source: TurnSource, response: Response): Promise<string> {
  try {
    return await source.accepted;
  } catch (error) {
    const { code } = toAppError(error);
    if (code === "storage_unavailable" || code === "internal_error") response.set("x-turn-id", source.turnId);
    throw error;
  }
}

export function chatRoutes({
  config,
  stores,
  agents,
  models,
  turns,
  heartbeatMs,
}: {
  config: Config;
  stores: Stores;
  agents: Agents;
  models: Models;
  turns: Turns;
  heartbeatMs: number;
}): Router {
  /** Throws AppError `invalid_request` that lists the known models. */
  function assertModel(requested: string | null): void {
    if (requested === null || models.listed.includes(requested)) return;
    const known = models.listed.join(", ") || "none, as MODELS is not set";
    throw AppError.invalid([{ field: "model", problem: `there is no model "${requested.slice(0, 80)}" to choose; known ones: ${known}` }]);
  }

  /** Refuses before the stream begins whatever can be refused. */
  async function begin(request: Request, response: Response): Promise<TurnSource> {
    const { body, pictures } = parseChatBody(withCallersUser(response, request.body), config);
    assertModel(body.model);
    await assertKnown({ stores, agents }, tenantOf(response), body);
    return turns.open(request, response, body, pictures.length > 0 ? { pictures } : {});
  }

  return makeRouter(chatOperations, {
    async streamTurn(request, response) {
      // A retry may say how much of the answer has come.
      const after = request.get("idempotency-key") === undefined ? BEGINNING : parseLastEventId(request.get("last-event-id"));
      const source = await begin(request, response);
      // A waiting client gets the stream at once: its heartbeats keep the connection.
      const turnId = source.waits ? source.turnId : await untilAccepted(source, response);
      await sendTurnStream(response, source, { turnId, heartbeatMs, flushHeaders: source.waits, after });
    },
    async runTurn(request, response) {
      const source = await begin(request, response);
      response.set("x-turn-id", await untilAccepted(source, response));
      const { status, content } = await source.last(abortSignalOnClose(response));
      if (status === "error") throw AppError.fromContent(content);
      response.status(status === "waiting" ? 202 : 200).json(content);
    },
  });
}
