import { z } from "zod";
import type { AppError } from "../../../errors/app-error.ts";
import type { Usage } from "../../../turn/usage.ts";
import { toOpenAIError } from "../../http/openai-error.ts";
import { responseId, type ResponseName, secondsIn } from "./response-ids.ts";

const status = z.enum(["in_progress", "completed", "incomplete"]);
const outputText = z.object({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
});
const inputText = z.object({ type: z.literal("input_text"), text: z.string() });

export const OutputMessage = z.object({
  id: z.string(),
  type: z.literal("message"),
  status,
  role: z.literal("assistant"),
  content: z.array(outputText),
});
export type OutputMessage = z.infer<typeof OutputMessage>;

export const ReasoningItem = z.object({
  id: z.string(),
  type: z.literal("reasoning"),
  status,
  summary: z.array(z.object({ type: z.literal("summary_text"), text: z.string() })),
});
export type ReasoningItem = z.infer<typeof ReasoningItem>;

export const FunctionCall = z.object({
  id: z.string(),
  type: z.literal("function_call"),
  status,
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  arguments: z.string(),
});
export type FunctionCall = z.infer<typeof FunctionCall>;

export const OutputItem = z.discriminatedUnion("type", [OutputMessage, ReasoningItem, FunctionCall]);
export type OutputItem = z.infer<typeof OutputItem>;

export const InputMessage = z.object({
  id: z.string(),
  type: z.literal("message"),
  status,
  role: z.literal("user"),
  content: z.array(inputText),
});

export const ConversationItem = z.discriminatedUnion("role", [InputMessage, OutputMessage]);
export type ConversationItem = z.infer<typeof ConversationItem>;

export const answerItem = (id: string, text: string, itemStatus: OutputMessage["status"]): OutputMessage => ({
  id,
  type: "message",
  status: itemStatus,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

export const questionItem = (id: string, text: string): ConversationItem => ({
  id,
  type: "message",
  status: "completed",
  role: "user",
  content: [{ type: "input_text", text }],
});

export function listOf<Item extends { id: string }>(data: Item[], hasMore = false) {
  return { object: "list" as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore };
}

export const ConversationItems = z.object({
  object: z.literal("list"),
  data: z.array(ConversationItem),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
});

/** What a response repeats of its request, and a stored one keeps. */
export const KeptEcho = z.object({
  model: z.string(),
  background: z.boolean(),
  conversation: z.object({ id: z.string() }).nullable(),
  max_output_tokens: z.number().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  store: z.boolean(),
  temperature: z.number().nullable(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  top_p: z.number().nullable(),
  user: z.string().nullable(),
});
export type KeptEcho = z.infer<typeof KeptEcho>;

/** `instructions` and `tools` are not kept: a response read later has none. */
export const Echo = KeptEcho.extend({
  instructions: z.string().nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.unknown(),
});
export type Echo = z.infer<typeof Echo>;

const ResponseUsage = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

/** https://platform.openai.com/docs/api-reference/responses/object */
export const ResponseObject = Echo.extend({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int().describe("Seconds since 1970."),
  status: z.enum(["in_progress", "completed", "incomplete", "failed", "cancelled"]),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  incomplete_details: z.object({ reason: z.literal("max_output_tokens") }).nullable(),
  output: z.array(OutputItem),
  truncation: z.literal("auto").describe("What a prompt has no room for is left out."),
  usage: ResponseUsage.nullable(),
});
export type ResponseObject = z.infer<typeof ResponseObject>;

export interface ResponseState {
  status: ResponseObject["status"];
  output: OutputItem[];
  error?: Pick<AppError, "code" | "message"> | null;
  usage?: (Usage & { cached_tokens?: number | null }) | null;
}

function toUsage({ prompt_tokens, completion_tokens, total_tokens, cached_tokens }: NonNullable<ResponseState["usage"]>) {
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: cached_tokens ?? 0 },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens,
  };
}

export function toResponse(name: ResponseName, echo: Echo, { status: now, output, error, usage }: ResponseState): ResponseObject {
  const failure = error && now === "failed" ? toOpenAIError({ code: error.code, message: error.message, details: undefined }).error : null;
  return {
    id: responseId(name),
    object: "response",
    created_at: secondsIn(name.turnId),
    status: now,
    error: failure && { code: failure.code, message: failure.message },
    incomplete_details: now === "incomplete" ? { reason: "max_output_tokens" } : null,
    output,
    truncation: "auto",
    usage: usage ? toUsage(usage) : null,
    ...echo,
  };
}
