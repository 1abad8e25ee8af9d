import { z } from "zod";
import type { ServerResponse } from "node:http";
import type { Usage } from "../../turn/state.ts";
import { toOpenAIError } from "./openai-error.ts";
import { AppError, type ErrorContent } from "../../errors/app-error.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { openEventStream, type ServerSentEvent } from "../http/event-stream.ts";

/** A call of the tool that the client demanded. */
export interface ToolCall {
  name: string;
  /** JSON. */
  arguments: string;
}

/** The events of an answer, of a turn or a task. The last is one `end` or `error`. */
export type CompletionEvent =
  | { kind: "text"; text: string }
  | { kind: "tool_call"; call: ToolCall }
  | { kind: "end"; finishReason: "stop" | "length" | "tool_calls"; usage: Usage }
  | { kind: "error"; error: AppError };

const toAppError = ({ code, message }: ErrorContent): AppError => new AppError(code, message);

function ofTurn(event: TurnEvent): CompletionEvent[] {
  switch (event.status) {
    case "token":
      return [{ kind: "text", text: event.content }];
    case "done":
      return [{ kind: "end", finishReason: event.content.completed ? "stop" : "length", usage: event.content.usage }];
    case "error":
      return [{ kind: "error", error: toAppError(event.content) }];
    case "route_decision":
    case "execution_log":
    case "notice":
      return []; // OpenAI's protocol has no place for them
  }
}

/** A turn's events as those of a completion. */
export async function* toCompletionEvents(batches: AsyncIterable<TurnEvent[]>): AsyncGenerator<CompletionEvent[], void> {
  for await (const batch of batches) yield batch.flatMap(ofTurn);
}

const toolCall = z.object({
  id: z.string(),
  type: z.literal("function"),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const finishReason = z.enum(["stop", "length", "tool_calls"]);
const tokens = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const answerFacts = { id: z.string(), created: z.int().describe("Seconds since 1970."), model: z.string() };

/** An answer that is sent whole: https://platform.openai.com/docs/api-reference/chat */
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
        tool_calls: z.array(toolCall).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason,
    }),
  ),
  usage: tokens,
});

type Completion = z.infer<typeof Completion>;

/** A piece of one that is streamed. */
export const CompletionChunk = z.object({
  ...answerFacts,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        tool_calls: z.array(toolCall.extend({ index: z.int() })).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: tokens.nullish(),
});
type CompletionChunk = z.infer<typeof CompletionChunk>;
type Choice = CompletionChunk["choices"][number];

/** What every part of one answer repeats. */
export interface CompletionFacts {
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
}

const toUsage = ({ prompt_tokens, completion_tokens, total_tokens }: Usage) => ({ prompt_tokens, completion_tokens, total_tokens });

const toToolCall = ({ name, arguments: given }: ToolCall, id: string) => {
  return { id: `call_${id}`, type: "function" as const, function: { name, arguments: given } };
};

export interface CompletionFrames {
  /** The chunk that says whose words follow. */
  opening: ServerSentEvent;
  of(event: CompletionEvent): ServerSentEvent[];
}

/** The server-sent events of a streamed answer: https://platform.openai.com/docs/api-reference/chat-streaming */
export function makeCompletionFrames({ id, model, created }: CompletionFacts, includeUsage: boolean): CompletionFrames {
  const frame = (content: object): ServerSentEvent => ({ data: JSON.stringify(content) });
  const chunk = (choices: CompletionChunk["choices"], usage: CompletionChunk["usage"] = null): ServerSentEvent =>
    frame({ id, object: "chat.completion.chunk", created, model, choices, ...(includeUsage ? { usage } : {}) } satisfies CompletionChunk);
  const delta = (content: Choice["delta"], finish_reason: Choice["finish_reason"] = null): ServerSentEvent =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason }]);
  return {
    opening: delta({ role: "assistant", content: "" }),
    of(event) {
      switch (event.kind) {
        case "text":
          return [delta({ content: event.text })];
        case "tool_call":
          return [delta({ tool_calls: [{ index: 0, ...toToolCall(event.call, id) }] })];
        case "end":
          return [delta({}, event.finishReason), ...(includeUsage ? [chunk([], toUsage(event.usage))] : []), { data: "[DONE]" }];
        case "error":
          return [frame(toOpenAIError(event.error))];
      }
    },
  };
}

/** The body of an answer that is sent whole. Throws its AppError when it ended with one: what there was of it is not sent. */
export async function wholeCompletion(
  { id, model, created }: CompletionFacts,
  batches: AsyncIterable<CompletionEvent[]>,
): Promise<Completion> {
  let content: string | null = null;
  const tool_calls: z.infer<typeof toolCall>[] = [];
  for await (const event of flat(batches)) {
    if (event.kind === "error") throw event.error;
    if (event.kind === "text") content = (content ?? "") + event.text;
    if (event.kind === "tool_call") tool_calls.push(toToolCall(event.call, id));
    if (event.kind !== "end") continue;
    const message = { role: "assistant" as const, content, refusal: null, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: event.finishReason }];
    return { id, object: "chat.completion", created, model, choices, usage: toUsage(event.usage) };
  }
  throw new Error("an answer ended without saying how");
}

async function* flat<Item>(batches: AsyncIterable<Item[]>): AsyncGenerator<Item, void> {
  for await (const batch of batches) yield* batch;
}

export interface CompletionStreamOptions {
  frames: CompletionFrames;
  headers: Record<string, string>;
  heartbeatMs: number;
}

/**
 * Streams an answer as fast as the client reads, until it has ended or the client has left. The stream begins with the first token or
 * heartbeat: an error before that is thrown, to become a plain HTTP error. A later one is the last event, without [DONE].
 */
export async function sendCompletionStream(
  response: ServerResponse,
  batches: AsyncIterable<CompletionEvent[]>,
  { frames, headers, heartbeatMs }: CompletionStreamOptions,
): Promise<void> {
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
