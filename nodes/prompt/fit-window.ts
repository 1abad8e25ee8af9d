import type { WindowMessage } from "../../turn/state.ts";
import { estimateTokens, shortenText, TOKENS_PER_MESSAGE } from "../../text/tokens.ts";

/** Most of the room for a single message when not all fit as they are. */
const LARGE_MESSAGE_SHARE = 0.25;

export interface FittingWindow {
  /** The newest messages, oldest first. */
  messages: WindowMessage[];
  /** The number of shortened ones. */
  shortened: number;
}

function tokensOf(window: WindowMessage[]): number {
  return window.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
}

function shorten(message: WindowMessage, maxTokens: number): WindowMessage {
  if (message.tokenCount <= maxTokens) return message;
  const content = shortenText(message.content, maxTokens);
  const tokenCount = estimateTokens(content);
  return tokenCount < message.tokenCount ? { ...message, content, tokenCount } : message; // the mark of what is left out has tokens too
}

/** The index from which the newest messages fit into `maxTokens`. */
function firstThatFits(window: WindowMessage[], maxTokens: number): number {
  let tokens = 0;
  let first = window.length;
  while (first > 0) {
    tokens += (window[first - 1]?.tokenCount ?? 0) + TOKENS_PER_MESSAGE;
    if (tokens > maxTokens) break;
    first--;
  }
  return first;
}

/** Fits the window into `maxTokens`: shortens messages of more than a quarter of that, then leaves out the oldest. */
export function fitWindow(window: WindowMessage[], maxTokens: number): FittingWindow {
  if (tokensOf(window) <= maxTokens) return { messages: window, shortened: 0 };
  const largest = Math.floor(maxTokens * LARGE_MESSAGE_SHARE) - TOKENS_PER_MESSAGE;
  const shorter = window.map((message) => shorten(message, largest));
  const first = firstThatFits(shorter, maxTokens);
  return {
    messages: shorter.slice(first),
    shortened: shorter.filter((message, index) => index >= first && message !== window[index]).length,
  };
}
