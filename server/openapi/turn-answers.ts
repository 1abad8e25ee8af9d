import { z } from "zod";
import type { TurnEvent as GraphTurnEvent } from "../../graph/turn-event.ts";
import { ExecutionLog, Layer, Receipt, RouteDecision, TurnError, Usage } from "../../graph/state.ts";

/** What a turn answers, as clients read it. Types of the graph are checked against these. */
export const TurnResult = z.object({
  answer: z.string(),
  conversation_id: z.uuid(),
  message_id: z.uuid().describe("The message in which the answer is stored."),
  completed: z.boolean().describe("False when the answer was cut short; such an answer is listed and never used as memory."),
  usage: Usage,
  timings: z.object({
    total_ms: z.number(),
    first_token_ms: z.number().nullable().describe("Null when no token came."),
    nodes: z.record(z.string(), z.number()).describe("Milliseconds by node of the graph."),
  }),
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

export const ImportResult = z.object({
  conversation_id: z.uuid(),
  imported: z.int(),
  skipped: z.int().describe("Messages whose metadata.external_id was imported before."),
});

export const ImportEvent = z.discriminatedUnion("status", [
  event("progress", z.object({ done: z.int(), total: z.int() })),
  event("done", ImportResult),
  event("error", TurnError),
]);
