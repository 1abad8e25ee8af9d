import type { WindowMessage } from "../../turn/state.ts";
import { estimateTokens, messageTokens, shortenText, TOKENS_PER_MESSAGE } from "../../text/tokens.ts";

const LARGE_MESSAGE_SHARE = 0.25;

function shorten(message: WindowMessage, maxTokens: number): WindowMessage {
  if (message.tokenCount <= maxTokens) return message;
  const content = shortenText(message.content, maxTokens);
  const tokenCount = estimateTokens(content);
  return tokenCount < message.tokenCount ? { ...message, content, tokenCount } : message; // the mark of what is left out has tokens too
}

/** The index from which the newest messages fit into `maxTokens`. */
function firstThatFits(window: WindowMessage[], maxTokens: number): number {
  let tokens = 0;
  const lastTooMany = window.findLastIndex(({ tokenCount }) => {
    tokens += tokenCount + TOKENS_PER_MESSAGE;
    return tokens > maxTokens;
  });
  return lastTooMany + 1;
}

/**
 * Fits the window into `maxTokens`: shortens messages of more than a quarter of that, then leaves out the oldest. `shortened` is a number.
 */
export function fitWindow(window: WindowMessage[], maxTokens: number): { messages: WindowMessage[]; shortened: number } {
  if (messageTokens(window) <= maxTokens) return { messages: window, shortened: 0 };
  const largest = Math.floor(maxTokens * LARGE_MESSAGE_SHARE) - TOKENS_PER_MESSAGE;
  const shorter = window.map((message) => shorten(message, largest));
  const first = firstThatFits(shorter, maxTokens);
  return {
    messages: shorter.slice(first),
    shortened: shorter.filter((message, index) => index >= first && message !== window[index]).length,
  };
}
