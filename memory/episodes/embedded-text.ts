import type { Exchange } from "../../stores/postgres/conversations/exchanges.ts";

/** An answer of more characters than this speaks for itself too loudly: the user's message alone says what the turn was about. */
const SHORT_ANSWER_CHARACTERS = 400;

/** What is embedded of an exchange. */
export function embeddedText({ asked, answer }: Exchange<{ content: string }>): string {
  if (!asked || !answer) return (asked ?? answer)?.content ?? "";
  return answer.content.length <= SHORT_ANSWER_CHARACTERS ? `${asked.content}\n${answer.content}` : asked.content;
}
