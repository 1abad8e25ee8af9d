import type { AIMessageChunk } from "@langchain/core/messages";
import type { ToolCall } from "./tool-schemas.ts";

export interface IdentifiedCall extends ToolCall {
  id: string;
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return text;
  }
}

/**
 * The calls of an answer, read strictly: LangChain completes JSON that was cut off, and half a section would replace the whole one. What is
 * no JSON stays text, to be refused.
 */
export function readToolCalls({ tool_call_chunks: pieces = [], tool_calls: calls = [] }: AIMessageChunk): IdentifiedCall[] {
  if (pieces.length === 0) return calls.map(({ id, name, args }) => ({ id: id ?? "", name, arguments: args as unknown }));
  return pieces.map(({ id, name, args }) => ({ id: id ?? "", name: name ?? "", arguments: parseArguments(args ?? "") }));
}
