import type { Usage } from "../../graph/state.ts";
import type { CompletionEvent, ToolCall } from "./completion-event.ts";
import { toOpenAIError } from "./openai-error.ts";

/** What every part of one answer repeats. */
export interface CompletionFacts {
  id: string;
  model: string;
  /** Seconds since 1970. */
  created: number;
}

const toUsage = ({ prompt_tokens, completion_tokens, total_tokens }: Usage) => ({ prompt_tokens, completion_tokens, total_tokens });

const toToolCall = ({ name, arguments: given }: ToolCall, id: string) => {
  return { id: `call_${id}`, type: "function", function: { name, arguments: given } };
};

export interface CompletionFrames {
  /** The chunk that says whose words follow. */
  role(): string;
  /** Everything that this event sends, the end of the stream included. */
  of(event: CompletionEvent): string;
}

/** The server-sent events of a streamed answer: https://platform.openai.com/docs/api-reference/chat-streaming */
export function makeCompletionFrames({ id, model, created }: CompletionFacts, includeUsage: boolean): CompletionFrames {
  const frame = (content: object): string => `data: ${JSON.stringify(content)}\n\n`;
  const chunk = (choices: object[], usage: object | null = null): string =>
    frame({ id, object: "chat.completion.chunk", created, model, choices, ...(includeUsage ? { usage } : {}) });
  const delta = (content: object, finish_reason: string | null = null): string =>
    chunk([{ index: 0, delta: content, logprobs: null, finish_reason }]);
  return {
    role: () => delta({ role: "assistant", content: "" }),
    of(event) {
      switch (event.kind) {
        case "text":
          return delta({ content: event.text });
        case "tool_call":
          return delta({ tool_calls: [{ index: 0, ...toToolCall(event.call, id) }] });
        case "end":
          return `${delta({}, event.finishReason)}${includeUsage ? chunk([], toUsage(event.usage)) : ""}data: [DONE]\n\n`;
        case "error":
          return frame(toOpenAIError(event.error));
      }
    },
  };
}

/** The body of an answer that is sent whole. Throws its AppError when it ended with one: what there was of it is not sent. */
export async function wholeCompletion({ id, model, created }: CompletionFacts, batches: AsyncIterable<CompletionEvent[]>): Promise<object> {
  let content: string | null = null;
  const tool_calls: object[] = [];
  for await (const event of flat(batches)) {
    if (event.kind === "error") throw event.error;
    if (event.kind === "text") content = (content ?? "") + event.text;
    if (event.kind === "tool_call") tool_calls.push(toToolCall(event.call, id));
    if (event.kind !== "end") continue;
    const message = { role: "assistant", content, refusal: null, ...(tool_calls.length > 0 ? { tool_calls } : {}) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: event.finishReason }];
    return { id, object: "chat.completion", created, model, choices, usage: toUsage(event.usage) };
  }
  throw new Error("an answer ended without saying how");
}

async function* flat<Item>(batches: AsyncIterable<Item[]>): AsyncGenerator<Item, void> {
  for await (const batch of batches) yield* batch;
}
