import type { ModelFacts, ModelPrices } from "./model-facts.ts";

/** Token counts are estimates. */
const FILL_SHARE = 0.9;

/** The most of a known context that an answer is given room for. */
const ANSWER_SHARE = 0.25;

/**
 * Tokens for a prompt. In a known context the longest answer has room behind it: some servers insist on that. An assumed one is probably
 * larger than is assumed.
 */
export function promptBudget(context: number, { longestAnswer, isAssumed }: { longestAnswer: number; isAssumed: boolean }): number {
  const reserve = isAssumed ? 0 : Math.min(longestAnswer, context * ANSWER_SHARE);
  return Math.floor((context - reserve) * FILL_SHARE);
}

export function budgetOf({ context_window: context, sources }: ModelFacts, longestAnswer: number): number {
  return promptBudget(context, { longestAnswer, isAssumed: sources.context_window === "assumed" });
}

const RATIO_DIGITS = 10_000;

/** 0.1234 of a limit. */
export const shareOf = (tokens: number, limit: number): number => Math.round((tokens / limit) * RATIO_DIGITS) / RATIO_DIGITS;

/** Null when the model's prices are unknown, or nobody counted the tokens. */
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
