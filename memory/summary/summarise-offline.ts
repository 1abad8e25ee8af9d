import { offlineSummary } from "./offline-summary.ts";
import type { Summarise } from "./summarise-conversation.ts";

/** The summary grows with what it stands for, in tokens, so that it saves from the beginning: benchmarks/README.md, tokens. */
const TOKENS_PER_COVERED_MESSAGE = 1.6;
const LEAST_TOKENS = 100;
const MOST_TOKENS = 400;

/** The summary without a model: the sentences that say most, word for word. Empty when none says anything. */
export const summariseOffline: Summarise = async ({ previous, messages, coveredMessageCount }) => {
  const maxTokens = Math.min(MOST_TOKENS, Math.max(LEAST_TOKENS, Math.round(TOKENS_PER_COVERED_MESSAGE * coveredMessageCount)));
  return offlineSummary({ previous, messages, maxTokens });
};
