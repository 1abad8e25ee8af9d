import { z } from "zod";
import type { Request, Response, Router } from "express";
import { parseLastEventId, sendTurnStream, turnStream } from "../../turns/turn-stream.ts";
import { INTERRUPTED, storedOutcome } from "../../turns/turn-source.ts";
import { callerOf } from "../../auth/caller.ts";
import { parseUuid } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route, time, type Sent } from "../../http/operation.ts";
import { Cut, TurnError, RouteDecision, Receipt, Layer } from "../../../turn/state.ts";
import { TurnUsage, Cost, NO_CONTEXT } from "../../../turn/usage.ts";
import { Question } from "../../../turn/question.ts";
import { Notice, TurnTimings } from "../../../turn/events.ts";
import { sourceOf, cancelTurn, type TurnParts, type FoundTurn, findTurn, assertKept } from "../../turns/find-turn.ts";

const Turn = z
  .object({
    id: z.uuid(),
    state: z
      .enum(["running", "waiting", "done", "failed", "interrupted"])
      .describe("A waiting turn goes on when its `question` is answered. Of an interrupted turn the process died; send its message again."),
    attempts: z.int().describe("How often a process has begun it: another one takes over the turn of an agent when its process died."),
    question: Question.nullable().describe("What it waits for."),
    conversation_id: z.uuid().nullable(),
    message_id: z.uuid().nullable().describe("The user's message."),
    answer_message_id: z.uuid().nullable(),
    started_at: time.nullable(),
    ended_at: time.nullable(),
    completed: z.boolean().nullable(),
    cut: Cut,
    error: TurnError.nullable(),
    route_decision: RouteDecision.nullable(),
    receipt: Receipt.nullable(),
    usage: TurnUsage.nullable(),
    cost: Cost,
    timings: TurnTimings.nullable(),
    degraded: z.array(Layer),
    notices: z.array(Notice),
    agent: z.string().nullable(),
    model: z.string().nullable().describe("The model that answered."),
    tool_calls: z.int().nullable(),
    steps: z.int().nullable(),
  })
  .describe("Fields of its end are null, or empty, before it.");
export type Turn = z.infer<typeof Turn>;
const CancelledTurn = z.object({ turn_id: z.uuid(), cancelled: z.boolean().describe("False when it had ended already.") });

export const turnOperations = operationGroup({
  tag: "turns",
  schemas: { Turn, CancelledTurn },
  routes: {
    getTurn: route("GET /api/v1/turns/:id", "A turn: whether it runs, and what came of it", {
      answer: Turn,
      errors: ["not_found", "turn_gone"],
    }),
    resumeTurn: route("GET /api/v1/turns/:id/stream", "The events of a turn, from the first or behind the last one that arrived", {
      headers: ["Last-Event-ID"],
      answers: { 200: turnStream },
      errors: ["not_found", "turn_gone"],
    }),
    cancelTurn: route("POST /api/v1/turns/:id/cancel", "Stops a turn, whichever process runs it; what there is of the answer is kept", {
      answer: CancelledTurn,
      errors: ["not_found", "unsupported_media_type"],
    }),
  },
});

const NO_OUTCOME = {
  completed: null,
  cut: null,
  error: null,
  route_decision: null,
  receipt: null,
  usage: null,
  cost: null,
  timings: null,
  degraded: [],
  notices: [],
  agent: null,
  model: null,
  tool_calls: null,
  steps: null,
};

function toTurn(found: FoundTurn): Sent<Turn> {
  const { id, record } = found;
  const outcome = record && storedOutcome(record);
  const shown = Object.entries(outcome ?? {}).filter(([name]) => name in NO_OUTCOME);
  const state = turnState(found);
  return {
    id,
    state,
    attempts: record?.attempts ?? 1,
    question: record?.question ?? null,
    conversation_id: record?.conversationId ?? null,
    message_id: record?.userMessageId ?? null,
    answer_message_id: record?.answerId ?? null,
    started_at: record?.startedAt ?? null,
    ended_at: record?.endedAt ?? null,
    ...NO_OUTCOME,
    ...(state === "interrupted" ? { error: INTERRUPTED } : {}),
    ...(Object.fromEntries(shown) as Partial<typeof outcome>),
    usage: outcome?.usage ? { ...NO_CONTEXT, ...outcome.usage } : null,
  };
}

export function turnRoutes(parts: TurnParts & { heartbeatMs: number }): Router {
  const { heartbeatMs } = parts;
  const { registry } = parts.turns;
  const findAsked = (request: Request, response: Response): Promise<FoundTurn> =>
    findTurn(parts, callerOf(response), parseUuid("turn id", request.params["id"]));

  return makeRouter(turnOperations, {
    async getTurn(request, response) {
      const found = await findAsked(request, response);
      assertKept(found);
      response.json(toTurn(found));
    },
    async resumeTurn(request, response) {
      const after = parseLastEventId(request.get("last-event-id"));
      const found = await findAsked(request, response);
      const source = sourceOf(parts, found);
      registry.attach(found.id, response, { cancels: false });
      await sendTurnStream(response, source, { turnId: found.id, heartbeatMs, flushHeaders: true, after });
    },
    async cancelTurn(request, response) {
      const found = await findAsked(request, response);
      const cancelled = await cancelTurn(parts, found);
      response.json({ turn_id: found.id, cancelled });
    },
  });
}

export function turnState({ record, isRunningHere }: FoundTurn): Turn["state"] {
  const outcome = record && storedOutcome(record);
  if (outcome) return outcome.error ? "failed" : "done";
  if (record?.question) return "waiting";
  return isRunningHere || record?.isHeld ? "running" : "interrupted";
}
