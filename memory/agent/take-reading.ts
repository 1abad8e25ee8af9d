import { estimateTokens } from "../../text/tokens.ts";
import type { Exchange } from "../../stores/postgres/conversations/exchanges.ts";

/** Of a reading one message may take this part; a longer one is shortened in the prompt. */
const MESSAGE_PART = 4;

/** What a message may have in the prompt of a reading of so many tokens. */
export function messageTokensOf(readingTokens: number): number {
  return Math.floor(readingTokens / MESSAGE_PART);
}

/** The oldest exchanges that have at most so many tokens together, long messages counted as they are shortened; at least one. */
export function takeReading<Read extends Exchange<{ content: string }>>(exchanges: readonly Read[], readingTokens: number): Read[] {
  const most = messageTokensOf(readingTokens);
  let tokens = 0;
  const end = exchanges.findIndex(({ asked, answer }, index) => {
    for (const message of [asked, answer]) if (message) tokens += Math.min(estimateTokens(message.content), most);
    return tokens > readingTokens && index > 0;
  });
  return end < 0 ? [...exchanges] : exchanges.slice(0, end);
}
