import type { ChatRequest } from "../api/types.ts";

type Part = Exclude<ChatRequest["message"], string>[number];

/** The words of a message that this page sends. */
export function wordsOf(message: ChatRequest["message"]): string {
  return typeof message === "string" ? message : message.flatMap((part: Part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
