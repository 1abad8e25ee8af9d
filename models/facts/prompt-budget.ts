import { DEFAULT_SHARES } from "../../turn/context.ts";
import type { ModelFacts, ModelPrices } from "./model-facts.ts";

/** Token counts are estimates. */
const FILL_SHARE = 0.9;

export interface AnswerRoom {
  /** The most tokens of an answer. */
  longestAnswer: number;
  /** Nobody knows the context. */
  isAssumed: boolean;
  /** The most of a context, in percent, that an answer is given room for. */
  outputShare?: number | undefined;
}

/**
 * Tokens for a prompt. In a known context the longest answer has room behind it, up to its share: some servers insist on that. An assumed
 * context is probably larger than is assumed.
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

/** Tokens that a prompt of so many counted ones leaves for the answer. */
export function answerRoom(context: number, promptTokens: number): number {
  return Math.max(LEAST_ANSWER, context - Math.ceil(promptTokens / FILL_SHARE));
}

/** Shares of a prompt's limit: people are warned; older messages are summarised. */
export const NEAR_LIMIT = 0.8;
export const SATURATED = 0.92;

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
