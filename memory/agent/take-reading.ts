import { estimateTokens } from "../../models/estimate-tokens.ts";
import type { MessagePair } from "../episodes/pair-messages.ts";

/** Of a reading one message may take this part; a longer one is shortened in the prompt. */
const MESSAGE_PART = 4;

/** What a message may have in the prompt of a reading of so many tokens. */
export function messageTokensOf(readingTokens: number): number {
  return Math.floor(readingTokens / MESSAGE_PART);
}

/** The oldest turns that have at most so many tokens together, long messages counted as they are shortened; at least one. */
export function takeReading<Message extends { content: string }>(
  pairs: readonly MessagePair<Message>[],
  readingTokens: number,
): MessagePair<Message>[] {
  const most = messageTokensOf(readingTokens);
  let tokens = 0;
  const end = pairs.findIndex(({ asked, answer }, index) => {
    for (const { content } of [asked, answer]) tokens += Math.min(estimateTokens(content), most);
    return tokens > readingTokens && index > 0;
  });
  return end < 0 ? [...pairs] : pairs.slice(0, end);
}
