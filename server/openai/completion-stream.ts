import { z } from "zod";
import type { ServerResponse } from "node:http";
import type { Question } from "../../turn/question.ts";
import type { Usage } from "../../turn/usage.ts";
import { askInWords, type TalkLanguage } from "../../turn/ask-in-words.ts";
import { toOpenAIError } from "../http/openai-error.ts";
import { AppError, type ErrorContent } from "../../errors/app-error.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { openEventStream, type ServerSentEvent } from "../http/event-stream.ts";

/** The events of an answer. The last is one `end` or `error`. */
export type CompletionEvent =
  | { kind: "text"; text: string }
  | { kind: "thought"; text: string }
  | { kind: "tool_call"; call: CalledTool; index: number }
  | { kind: "end"; finishReason: "stop" | "length" | "tool_calls"; usage: Usage }
  | { kind: "error"; error: AppError };

function toError(content: ErrorContent, field: string): AppError {
  return content.code === "invalid_request" ? AppError.invalid([{ field, problem: content.message }]) : AppError.fromContent(content);
}

type OpenCall = NonNullable<Question["calls"]>[number];

export interface AskedEvents {
  /** The field that an error is about, which the turn does not know. */
  field: string;
  language: TalkLanguage;
}

export async function* toCompletionEvents(
  batches: AsyncIterable<TurnEvent[]>,
  { field, language }: AskedEvents,
): AsyncGenerator<CompletionEvent[], void> {
  /** Calls that the service has not run. */
  const unrun = new Map<string, OpenCall>();
  let hasSaid = false;

  function endWithCalls(calls: readonly OpenCall[], usage: Usage): CompletionEvent[] {
    const told = calls.map(({ call_id: id, name, arguments: given }, index): CompletionEvent => {
      return { kind: "tool_call", call: { id, name, arguments: typeof given === "string" ? given : JSON.stringify(given) }, index };
    });
    return [...told, { kind: "end", finishReason: "tool_calls", usage }];
  }

  function ofTurn(event: TurnEvent): CompletionEvent[] {
    switch (event.status) {
      case "token":
        hasSaid = true;
        return [{ kind: "text", text: event.content }];
      case "thought":
        return [{ kind: "thought", text: event.content }];
      case "tool_call":
        unrun.set(event.content.call_id, event.content);
        return [];
      case "tool_result":
        unrun.delete(event.content.call_id);
        return [];
      case "waiting": {
        const { question } = event.content;
        const usage = event.content.usage ?? NO_USAGE;
        if (question.type === "client_tool") return endWithCalls(question.calls ?? [], usage);
        const text = `${hasSaid ? "\n\n" : ""}${askInWords(question, language)}`;
        return [
          { kind: "text", text },
          { kind: "end", finishReason: "stop", usage },
        ];
      }
      case "done": {
        const { completed, cut, usage } = event.content;
        if (unrun.size > 0) return endWithCalls([...unrun.values()], usage);
        return [{ kind: "end", finishReason: completed && !cut ? "stop" : "length", usage }];
      }
      case "error":
        // OpenAI's server ends such an answer so. Clients would repeat after an error.
        if (event.content.code === "model_out_of_tokens") return [{ kind: "end", finishReason: "length", usage: NO_USAGE }];
        return [{ kind: "error", error: toError(event.content, field) }];
      case "route_decision":
      case "execution_log":
      case "notice":
      case "plan":
      case "handoff":
      case "context_compressed":
      case "doom_loop_detected":
      case "decision_rejected":
      case "permission_asked":
      case "clarification_asked":
      case "decision_asked":
      case "permission_replied":
      case "clarification_answered":
      case "decision_answered":
        return []; // OpenAI's protocol has no place for them
    }
  }

  for await (const batch of batches) yield batch.flatMap(ofTurn);
}

const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, estimated: true };

const calledTool = z.object({ name: z.string(), arguments: z.string() });
type CalledTool = z.infer<typeof calledTool> & { id?: string };
const toolCall = z.object({ id: z.string(), type: z.literal("function"), function: calledTool });
const callDelta = toolCall.partial().extend({ index: z.int(), function: calledTool.partial() });
const finishReason = z.enum(["stop", "length", "tool_calls"]);
const tokens = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const answerFacts = { id: z.string(), created: z.int().describe("Seconds since 1970."), model: z.string() };

/** https://platform.openai.com/docs/api-reference/chat */
export const Completion = z.object({
  ...answerFacts,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        refusal: z.null(),
        reasoning_content: z.string().optional().describe("Reasoning, where the model's server sends it."),
        tool_calls: z.array(toolCall).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason,
    }),
  ),
  usage: tokens,
});

type Completion = z.infer<typeof Completion>;

export const CompletionChunk = z.object({
  ...answerFacts,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        reasoning_content: z.string().optional(),
        tool_calls: z.array(callDelta).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: tokens.nullish(),
});
type CompletionChunk = z.infer<typeof CompletionChunk>;
type Choice = CompletionChunk["choices"][number];

export type CompletionFacts = Pick<Completion, "id" | "model" | "created">;

const toUsage = ({ prompt_tokens, completion_tokens, total_tokens }: Usage) => ({ prompt_tokens, completion_tokens, total_tokens });

const toToolCall = ({ id, ...call }: CalledTool, ofAnswer: string) => {
  return { id: id ?? `call_${ofAnswer}`, type: "function" as const, function: call };
};

/** https://platform.openai.com/docs/api-reference/chat-streaming */
function makeCompletionFrames({ id, model, created }: CompletionFacts, includeUsage: boolean) {
  const frame = (content: object): ServerSentEvent => ({ data: JSON.stringify(content) });
  const chunk = (choices: CompletionChunk["choices"], usage: CompletionChunk["usage"] = null): ServerSentEvent =>
    frame({ id, object: "chat.completion.chunk", created, model, choices, ...(includeUsage ? { usage } : {}) } satisfies CompletionChunk);
  const delta = (content: Choice["delta"], finish_reason: Choice["finish_reason"] = null): ServerSentEvent =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason }]);
  /** Clients join the pieces of a call by its index; its id and its name come in the first one. */
  function callDeltas({ call, index }: Extract<CompletionEvent, { kind: "tool_call" }>): z.infer<typeof callDelta>[] {
    const { function: called, ...head } = toToolCall(call, id);
    return [
      { index, ...head, function: { ...called, arguments: "" } },
      { index, function: { arguments: called.arguments } },
    ];
  }
  return {
    opening: [delta({ role: "assistant", content: "" })],
    of(event: CompletionEvent): ServerSentEvent[] {
      switch (event.kind) {
        case "text":
          return [delta({ content: event.text })];
        case "thought":
          return [delta({ reasoning_content: event.text })];
        case "tool_call":
          return callDeltas(event).map((call) => delta({ tool_calls: [call] }));
        case "end":
          return [delta({}, event.finishReason), ...(includeUsage ? [chunk([], toUsage(event.usage))] : []), { data: "[DONE]" }];
        case "error":
          return [frame(toOpenAIError(event.error))];
      }
    },
  };
}

/** The body of a whole answer. Throws the AppError that it ends with. */
export async function wholeCompletion(facts: CompletionFacts, batches: AsyncIterable<CompletionEvent[]>): Promise<Completion> {
  let content: string | null = null;
  let thoughts = "";
  const tool_calls: z.infer<typeof toolCall>[] = [];
  for (const event of (await Array.fromAsync(batches)).flat()) {
    if (event.kind === "error") throw event.error;
    if (event.kind === "text") content = (content ?? "") + event.text;
    if (event.kind === "thought") thoughts += event.text;
    if (event.kind === "tool_call") tool_calls.push(toToolCall(event.call, facts.id));
    if (event.kind !== "end") continue;
    const reasoning = thoughts === "" ? {} : { reasoning_content: thoughts };
    const message = { role: "assistant" as const, content, refusal: null, ...reasoning, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: event.finishReason }];
    return { ...facts, object: "chat.completion", choices, usage: toUsage(event.usage) };
  }
  throw new Error("an answer ended without saying how");
}

interface CompletionStreamOptions {
  facts: CompletionFacts;
  includeUsage: boolean;
  headers: Record<string, string>;
  heartbeatMs: number;
}

/**
 * Streams an answer as fast as the client reads. The stream begins with the first token or heartbeat: an earlier error is thrown, to become
 * a plain HTTP error. A later one is the last event, without [DONE].
 */
export async function sendCompletionStream(
  response: ServerResponse,
  batches: AsyncIterable<CompletionEvent[]>,
  { facts, includeUsage, headers, heartbeatMs }: CompletionStreamOptions,
): Promise<void> {
  const frames = makeCompletionFrames(facts, includeUsage);
  using stream = openEventStream(response, { heartbeatMs, headers, opening: frames.opening });
  for await (const batch of batches) {
    if (response.destroyed) return;
    if (batch.length === 0) continue;
    const [first] = batch;
    if (first?.kind === "error" && !response.headersSent) throw first.error;
    const atOnce = !response.headersSent;
    await stream.send(
      batch.flatMap((event) => frames.of(event)),
      { atOnce },
    );
  }
  stream.end();
}
