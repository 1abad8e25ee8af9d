import type { WindowMessage } from "../graph/state.ts";
import { TOKENS_PER_MESSAGE } from "../models/estimate-tokens.ts";

/** The newest messages that together have at most `maxTokens`, oldest first. */
export function fitWindow(window: WindowMessage[], maxTokens: number): WindowMessage[] {
  let tokens = 0;
  let from = window.length;
  while (from > 0) {
    tokens += (window[from - 1]?.tokenCount ?? 0) + TOKENS_PER_MESSAGE;
    if (tokens > maxTokens) break;
    from--;
  }
  return window.slice(from);
}
