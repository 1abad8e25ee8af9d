import type { ChatRequest } from "../api/types.ts";

type Message = NonNullable<ChatRequest["message"]>;
type Part = Exclude<Message, string>[number];

/** The words of a message that this page sends; none of a request that has an answer given again. */
export function wordsOf(message: Message = ""): string {
  return typeof message === "string" ? message : message.flatMap((part: Part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
