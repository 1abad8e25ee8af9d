import { DEFAULT_SHARES } from "../../turn/context.ts";
import type { ModelFacts, ModelPrices } from "./model-facts.ts";

/** Token counts are estimates. */
const FILL_SHARE = 0.9;

export interface AnswerRoom {
  longestAnswer: number;
  /** Nobody knows the context. */
  isAssumed: boolean;
  /** The most percent of a context reserved for an answer. */
  outputShare?: number | undefined;
}

/**
 * Tokens for a prompt. A known context reserves room for the longest answer, up to its share: some servers insist on it. An assumed context
 * is probably larger than assumed.
 */
export function promptBudget(context: number, { longestAnswer, isAssumed, outputShare = DEFAULT_SHARES.output }: AnswerRoom): number {
  const reserve = isAssumed ? 0 : Math.min(longestAnswer, (context * outputShare) / 100);
  return Math.floor((context - reserve) * FILL_SHARE);
}

export function budgetOf({ context_window: context, sources }: ModelFacts, room: Omit<AnswerRoom, "isAssumed">): number {
  return promptBudget(context, { ...room, isAssumed: sources.context_window === "assumed" });
}

/** A shorter answer would say nothing. */
const LEAST_ANSWER = 64;

export function answerRoom(context: number, promptTokens: number): number {
  return Math.max(LEAST_ANSWER, context - Math.ceil(promptTokens / FILL_SHARE));
}

/** Shares of a prompt's limit: people are warned; older messages are summarised. */
export const NEAR_LIMIT = 0.8;
export const SATURATED = 0.92;

const RATIO_DIGITS = 10_000;

/** Rounds to 0.1234. */
export const shareOf = (tokens: number, limit: number): number => Math.round((tokens / limit) * RATIO_DIGITS) / RATIO_DIGITS;

/** Null when the prices are unknown, or nobody counted the tokens. */
export function costOf(
  prices: ModelPrices | null,
  usage: { prompt_tokens: number; completion_tokens: number; cached_tokens: number | null; estimated: boolean },
): { input_usd: number; output_usd: number } | null {
  if (!prices || usage.estimated) return null;
  const cached = Math.min(usage.cached_tokens ?? 0, usage.prompt_tokens);
  const { input, output, cached_input: cachedInput = input } = prices;
  return {
    input_usd: ((usage.prompt_tokens - cached) * input + cached * cachedInput) / 1_000_000,
    output_usd: (usage.completion_tokens * output) / 1_000_000,
  };
}
