import type { WindowMessage } from "../turn/state.ts";
import { estimateTokens, messageTokens, shortenText, TOKENS_PER_MESSAGE } from "../text/tokens.ts";

const LARGE_MESSAGE_SHARE = 0.25;

function shorten(message: WindowMessage, maxTokens: number): WindowMessage {
  if (message.tokenCount <= maxTokens) return message;
  const content = shortenText(message.content, maxTokens);
  const tokenCount = estimateTokens(content);
  return tokenCount < message.tokenCount ? { ...message, content, tokenCount } : message; // the mark of what is left out has tokens too
}

/**
 * Fits the window into `maxTokens`: shortens messages of more than a quarter of that, then leaves out the oldest. `shortened` is a number.
 * A shortened message counts as a whole quarter, so that more room never holds fewer messages.
 */
export function fitWindow(window: WindowMessage[], maxTokens: number): { messages: WindowMessage[]; shortened: number } {
  if (messageTokens(window) <= maxTokens) return { messages: window, shortened: 0 };
  const quarter = Math.floor(maxTokens * LARGE_MESSAGE_SHARE);
  const shorter = window.map((message) => shorten(message, quarter - TOKENS_PER_MESSAGE));
  let tokens = 0;
  const lastTooMany = window.findLastIndex((message, index) => {
    const [whole, given] = [message, shorter[index] ?? message].map(({ tokenCount }) => tokenCount + TOKENS_PER_MESSAGE) as [
      number,
      number,
    ];
    tokens += Math.max(given, Math.min(whole, quarter)); // the mark may be longer than a quarter
    return tokens > quarter / LARGE_MESSAGE_SHARE;
  });
  const messages = shorter.slice(lastTooMany + 1);
  return { messages, shortened: messages.filter((message, index) => message !== window[lastTooMany + 1 + index]).length };
}
