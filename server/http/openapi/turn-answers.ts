import { z } from "zod";
import type { TurnEvent as GraphTurnEvent } from "../../../turn/events.ts";
import { ExecutionLog, Layer, Receipt, RouteDecision, TurnError, Usage } from "../../../turn/state.ts";

const timings = z.object({
  total_ms: z.number(),
  first_token_ms: z.number().nullable().describe("Null when no token came."),
  nodes: z.record(z.string(), z.number()).describe("Milliseconds by node of the graph."),
  started: z.record(z.string(), z.number()).describe("When each of them began, in milliseconds after the turn did."),
});

/** What a turn answers, as clients read it. Types of the graph are checked against these. */
export const TurnResult = z.object({
  answer: z.string(),
  conversation_id: z.uuid(),
  message_id: z.uuid().describe("The message in which the answer is stored."),
  completed: z.boolean().describe("False when the answer was cut short; such an answer is listed and never used as memory."),
  usage: Usage,
  timings,
  receipt: Receipt,
  degraded: z.array(Layer).describe("Memory layers that were switched on but could not be used in this turn."),
});

export const Notice = z.object({ code: z.enum(["context_trimmed", "handler_failed"]), message: z.string() });

const event = <Status extends string, Content extends z.ZodType>(status: Status, content: Content) =>
  z.object({ status: z.literal(status), content });

export const TurnEvent = z.discriminatedUnion("status", [
  event("route_decision", RouteDecision),
  event("token", z.string()),
  event("execution_log", ExecutionLog),
  event("notice", Notice),
  event("done", TurnResult),
  event("error", TurnError),
]) satisfies z.ZodType<GraphTurnEvent>;

export const Turn = z
  .object({
    id: z.uuid(),
    state: z
      .enum(["running", "done", "failed", "interrupted"])
      .describe("Of an interrupted turn the process died; send its message again."),
    conversation_id: z.uuid().nullable(),
    message_id: z.uuid().nullable().describe("The user's message."),
    answer_message_id: z.uuid().nullable(),
    started_at: z.iso.datetime().nullable(),
    ended_at: z.iso.datetime().nullable(),
    completed: z.boolean().nullable(),
    error: TurnError.nullable(),
    route_decision: RouteDecision.nullable(),
    receipt: Receipt.nullable(),
    usage: Usage.nullable(),
    timings: timings.nullable(),
    degraded: z.array(Layer),
    notices: z.array(Notice),
  })
  .describe("Fields of its end are null, or empty, before it.");

export const CancelledTurn = z.object({ turn_id: z.uuid(), cancelled: z.boolean().describe("False when it had ended already.") });

export const ImportResult = z.object({
  conversation_id: z.uuid(),
  imported: z.int(),
  skipped: z.int().describe("Messages whose metadata.external_id was imported before."),
  exchanges: z
    .int()
    .describe(
      "Exchanges that the new messages belong to: a question with its answer, which may have been there, or a message without a partner.",
    ),
  invalid: z
    .array(z.object({ index: z.int(), field: z.string(), problem: z.string() }))
    .describe('Messages that are wrong and were left out with `"on_invalid": "skip"`, and why; `index` counts from 0.'),
});

export const ImportEvent = z.discriminatedUnion("status", [
  event("progress", z.object({ done: z.int(), total: z.int(), exchanges: z.int().describe("Those made so far.") })),
  event("done", ImportResult),
  event("error", TurnError),
]);
