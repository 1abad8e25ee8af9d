import type { MessagePair } from "./pair-messages.ts";

/** An answer of more characters than this speaks for itself too loudly: the user's message alone says what the turn was about. */
const SHORT_ANSWER_CHARACTERS = 400;

/** What is embedded of a turn. */
export function embeddedText({ asked, answer }: MessagePair<{ content: string }>): string {
  return answer.content.length <= SHORT_ANSWER_CHARACTERS ? `${asked.content}\n${answer.content}` : asked.content;
}
