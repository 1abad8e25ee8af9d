import { AIMessageChunk } from "@langchain/core/messages";
import type { ToolCallChunk } from "@langchain/core/messages/tool";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import type { Delta } from "./delta.ts";

const deltas = new WeakMap<AIMessageChunk, Delta>();

/** The delta of a chunk; undefined for another model's chunk. */
export const deltaOf = (chunk: AIMessageChunk): Delta | undefined => deltas.get(chunk);

/** Whether a chunk has a part of the answer: tracers get no other. */
export const isToken = (chunk: AIMessageChunk): boolean => deltaOf(chunk)?.type !== "alive";

function toCallChunk({ place, id, name, arguments: args }: Extract<Delta, { type: "call" }>): ToolCallChunk {
  return { type: "tool_call_chunk", index: place, args, ...(id === "" ? {} : { id }), ...(name === "" ? {} : { name }) };
}

/** LangChain's chunk of a delta. Thoughts are where ChatDeepSeek has them. */
function toChunk(delta: Delta): AIMessageChunk {
  switch (delta.type) {
    case "text":
      return new AIMessageChunk(delta.text);
    case "thought":
      return new AIMessageChunk({ content: "", additional_kwargs: { reasoning_content: delta.text } });
    case "echo":
      return new AIMessageChunk({ content: "", additional_kwargs: { echo: delta.echo } });
    case "usage":
      return Object.assign(new AIMessageChunk(""), { usage_metadata: delta.usage });
    case "call":
      return new AIMessageChunk({ content: "", tool_call_chunks: [toCallChunk(delta)] });
    case "finish":
      return new AIMessageChunk({ content: "", response_metadata: { finish_reason: delta.word } });
    case "retract":
    case "alive":
      return new AIMessageChunk("");
  }
}

export function toGeneration(delta: Delta): ChatGenerationChunk {
  const message = toChunk(delta);
  deltas.set(message, delta);
  return new ChatGenerationChunk({
    text: message.text,
    message,
    generationInfo: delta.type === "finish" ? { finish_reason: delta.word } : {},
  });
}
