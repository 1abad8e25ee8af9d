import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { Receipt, WindowMessage } from "../graph/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../models/estimate-tokens.ts";
import { fitWindow } from "./fit-window.ts";
import { shortenText } from "./shorten-text.ts";

const SYSTEM_PROMPT = `You are a helpful assistant in a long-running conversation. Answer in the language of the user's last message.
Rely on what the user has told you; when you do not know something about the user, say so instead of guessing.`;

/** Share of the budget that the current message may take; a longer one is shortened in the prompt, never in the store. */
const MESSAGE_SHARE = 0.75;

export interface AssembledPrompt {
  messages: BaseMessage[];
  receipt: Receipt;
  /** An estimate. */
  tokens: number;
  /** How many messages of the window did not fit. */
  leftOut: number;
}

/**
 * The prompt of one turn within `tokenBudget`, what stays the same from turn to turn first: system, window, then the current message.
 * Takes the place of a template: text of users is only ever joined, never expanded.
 */
export function assemblePrompt({
  window,
  message,
  tokenBudget,
}: {
  window: WindowMessage[];
  message: string;
  tokenBudget: number;
}): AssembledPrompt {
  const system = estimateTokens(SYSTEM_PROMPT) + 2 * TOKENS_PER_MESSAGE;
  const room = Math.max(0, tokenBudget - system);
  const current = shortenText(message, Math.floor(room * MESSAGE_SHARE));
  const currentTokens = estimateTokens(current);
  const fitting = fitWindow(window, room - currentTokens);
  const windowTokens = fitting.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
  return {
    messages: [
      new SystemMessage(SYSTEM_PROMPT),
      ...fitting.map(({ role, content }) => (role === "user" ? new HumanMessage(content) : new AIMessage(content))),
      new HumanMessage(current),
    ],
    receipt: { summary: null, window_messages: fitting.length, core_memory: [], episodes: [], passages: [] },
    tokens: system + windowTokens + currentTokens,
    leftOut: window.length - fitting.length,
  };
}
