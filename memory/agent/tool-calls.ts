import { AIMessage, type AIMessageChunk } from "@langchain/core/messages";
import type { ToolCall } from "./working-memory.ts";

export interface IdentifiedCall extends ToolCall {
  id: string;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return text;
  }
}

/**
 * The calls of an answer in their order, read strictly: LangChain completes JSON that was cut off, and half a section would take the place
 * of the whole one. Arguments that are no JSON stay the text they are, to be refused.
 */
export function callsOf(answer: AIMessageChunk): IdentifiedCall[] {
  const pieces = (answer.tool_call_chunks ?? []).map(({ id, name, args }) => {
    return { id: id ?? "", name: name ?? "", arguments: parse(args ?? "") };
  });
  if (pieces.length > 0) return pieces;
  return (answer.tool_calls ?? []).map(({ id, name, args }) => ({ id: id ?? "", name, arguments: args as unknown })); // it came in one piece
}

/** The answer as it goes back to the model: with every call that gets an answer of its tool, those with broken arguments too. */
export function answerWithCalls(answer: AIMessageChunk, calls: readonly IdentifiedCall[]): AIMessage {
  return new AIMessage({
    content: answer.text,
    tool_calls: calls.map(({ id, name, arguments: given }) => {
      const args = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
      return { id, name, args, type: "tool_call" as const };
    }),
  });
}
