import { z } from "zod";
import { AnsweredQuestion, Question } from "./question.ts";
import { Cut, ExecutionLog, Layer, Receipt, RouteDecision, TurnError } from "./state.ts";
import { RuleAction } from "./rule.ts";
import { Cost, TurnUsage } from "./usage.ts";

/** Milliseconds of a turn. Parallel nodes overlap. Stored timings lack `persist`. */
export const TurnTimings = z.object({
  total_ms: z.number(),
  first_token_ms: z.number().nullable().describe("Null when no token came."),
  nodes: z.record(z.string(), z.number()).describe("Milliseconds by node of the graph."),
  started: z.record(z.string(), z.number()).describe("When each of them began, in milliseconds after the turn did."),
});
export type TurnTimings = z.infer<typeof TurnTimings>;

/** The result of a turn that was answered, in full or in part. */
export const TurnResult = z.object({
  answer: z.string(),
  conversation_id: z.uuid(),
  message_id: z.uuid().describe("The message in which the answer is stored."),
  completed: z.boolean().describe("False when the answer was cut short; such an answer is listed and never used as memory."),
  cut: Cut,
  usage: TurnUsage,
  cost: Cost,
  timings: TurnTimings,
  receipt: Receipt,
  degraded: z.array(Layer).describe("Memory layers that were switched on but could not be used in this turn."),
  agent: z.string().describe("The agent that answered."),
  model: z.string().nullable().describe("The model that answered, by its name in `GET /api/v1/models`. Null: a handler answered."),
  tool_calls: z.int().describe("Calls of tools that were asked for."),
  steps: z.int().describe("Steps that are kept: see `GET /api/v1/turns/:id/steps`."),
});
export type TurnResult = z.infer<typeof TurnResult>;

export const Notice = z.object({
  code: z.enum([
    "context_trimmed",
    "handler_failed",
    "agent_limit",
    "mcp_unavailable",
    "context_near_limit",
    "knowledge_missing",
    "tools_left_out",
  ]),
  message: z.string(),
});
export type Notice = z.infer<typeof Notice>;

/** The agents from the one that answers the turn to the one at work. */
export const AgentPath = z.array(z.string()).describe("The agents from the one that answers to the one at work.");

export const Handoff = z.object({ from: z.string(), to: z.string(), reason: z.string() });
export type Handoff = z.infer<typeof Handoff>;

export const ToolCallEvent = z.object({
  call_id: z.string(),
  agent: z.string(),
  path: AgentPath,
  name: z.string(),
  arguments: z.unknown().describe("An object, or the text that the model sent when it is no JSON."),
});
export type ToolCallEvent = z.infer<typeof ToolCallEvent>;

export const ToolResultEvent = z.object({
  call_id: z.string(),
  agent: z.string(),
  path: AgentPath,
  name: z.string(),
  ok: z.boolean().describe("False: the output is an error, which the model reads."),
  output: z.string().describe("At most 4,000 characters; the step has all."),
  cut: z.boolean().describe("Whether something is missing here."),
  ms: z.number(),
});
export type ToolResultEvent = z.infer<typeof ToolResultEvent>;

/** A call that is not run because it repeats earlier ones. */
export const DoomLoop = z.object({
  agent: z.string(),
  path: AgentPath,
  name: z.string(),
  arguments: z.unknown().describe("An object, or the text that the model sent when it is no JSON."),
  count: z.int().describe("How often it has been called, with this time."),
});

/** A rule of an agent, or of its tenant, has refused or corrected a call, or has it asked about. */
export const DecisionRejected = z.object({
  rule: z.string().describe("Its name."),
  action: RuleAction,
  agent: z.string(),
  path: AgentPath,
  name: z.string().describe("The tool; `ask_agent`: a task for a member."),
  arguments: z.unknown().describe("As the model sent them."),
  message: z.string(),
});
export type DecisionRejected = z.infer<typeof DecisionRejected>;

/** How a prompt was made to fit. Messages are those of the prompt; tokens are estimated. */
export const ContextCompressed = z.object({
  strategy: z
    .enum(["prune", "truncate", "summarize"])
    .describe("Outputs of tools left out, messages shortened or left out, or older messages summarised."),
  original_message_count: z.int(),
  final_message_count: z.int(),
  tokens_before: z.int(),
  tokens_after: z.int(),
  budget: z.int().describe("The tokens that the prompt may have."),
  utilization_pct: z.int().describe("How much of that it has."),
});
export type ContextCompressed = z.infer<typeof ContextCompressed>;

export const PlanItem = z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) });
export type PlanItem = z.infer<typeof PlanItem>;

export const event = <Status extends string, Content extends z.ZodType>(status: Status, content: Content) =>
  z.object({ status: z.literal(status), content });

export const Waiting = z.object({
  turn_id: z.uuid(),
  conversation_id: z.uuid(),
  question: Question,
  usage: TurnUsage.nullish().describe("Of the turn so far; missing when the turn is found again."),
});
/** The end of a stream whose turn goes on when somebody answers. */
export type Waiting = z.infer<typeof Waiting>;

/** An event of a running turn. The last one is `done`, `error` or `waiting`. */
export const TurnEvent = z.discriminatedUnion("status", [
  event("route_decision", RouteDecision),
  event("token", z.string()),
  event("execution_log", ExecutionLog),
  event("notice", Notice),
  event("thought", z.string().describe("Reasoning, as the model's server sends it.")),
  event("tool_call", ToolCallEvent),
  event("tool_result", ToolResultEvent),
  event("plan", z.object({ items: z.array(PlanItem) })),
  event("handoff", Handoff),
  event("context_compressed", ContextCompressed),
  event("doom_loop_detected", DoomLoop),
  event("decision_rejected", DecisionRejected),
  event("permission_asked", Question),
  event("clarification_asked", Question),
  event("decision_asked", Question),
  event("permission_replied", AnsweredQuestion),
  event("clarification_answered", AnsweredQuestion),
  event("decision_answered", AnsweredQuestion),
  event("waiting", Waiting),
  event("done", TurnResult),
  event("error", TurnError),
]);
export type TurnEvent = z.infer<typeof TurnEvent>;

export const LAST_STATUS = ["done", "error", "waiting"] as const;
type LastStatus = (typeof LAST_STATUS)[number];

/** `accepted`: the message is stored. */
export type NodeEvent =
  | Exclude<TurnEvent, { status: LastStatus }>
  | { status: "accepted"; content: { turn_id: string; conversation_id: string; message_id: string } };

export function millisecondsSince(began: number, now = performance.now()): number {
  return Math.round((now - began) * 100) / 100;
}
