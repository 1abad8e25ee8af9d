import type { LearnedContexts } from "./learned-contexts.ts";
import { answerRoom, promptBudget } from "./prompt-budget.ts";
import type { Refusal } from "./refusal.ts";
import type { TokenCounts } from "./token-counts.ts";

/** The presently known limits of prompts, by the model's name. */
export interface PromptLimits {
  of: (model: string) => number;
  /** The most tokens of an answer to a prompt of so many. Undefined: the model's own. */
  answerTokens: (model: string, promptTokens: number) => number | undefined;
  /** Learns from a refused prompt of so many estimated tokens. Returns the estimated tokens for a second attempt. */
  refused: (model: string, refusal: Refusal, estimated: number) => number;
  counts: TokenCounts;
}

/** If a server names no limit, its context is less than the refused prompt, and a second attempt has half of that. */
const GUESSED_SHARE = 0.9;
const UNTOLD_SHARE = 0.5;
/** A server with a higher ratio has counted something else. */
const MOST_PER_ESTIMATED = 3;

export interface PromptLimitsParts {
  /** The limit known before any refusal. */
  known: (model: string) => number;
  longestAnswer: number;
  /** The most percent of a context reserved for an answer. Default 15. */
  outputShare?: number | undefined;
  /** A model's context, or null. Default: unknown. */
  contextOf?: (model: string) => number | null;
  learned: LearnedContexts;
  counts: TokenCounts;
}

export function makePromptLimits(parts: PromptLimitsParts): PromptLimits {
  const { known, longestAnswer, outputShare, contextOf = () => null, learned, counts } = parts;
  function of(model: string): number {
    const context = learned.of(model);
    if (context === undefined) return known(model);
    return Math.min(known(model), promptBudget(context, { longestAnswer, isAssumed: false, outputShare }));
  }
  return {
    of,
    counts,
    answerTokens(model, promptTokens) {
      const context = learned.of(model) ?? contextOf(model);
      if (context === null) return undefined;
      const room = answerRoom(context, promptTokens);
      return room < longestAnswer ? room : undefined;
    },
    refused(model, { limit, prompt }, estimated) {
      learned.learn(model, limit ?? Math.floor((prompt ?? estimated) * GUESSED_SHARE), { isTold: limit !== null });
      const perEstimated = Math.min(MOST_PER_ESTIMATED, Math.max(1, (prompt ?? 0) / estimated));
      // Some servers refuse a prompt because it leaves no room for the answer.
      const isForAnswer = limit !== null && prompt !== null && prompt <= limit;
      const most = limit === null ? estimated * UNTOLD_SHARE : isForAnswer ? Math.max(estimated - longestAnswer, estimated / 2) : estimated;
      return Math.floor(Math.min(of(model) / perEstimated, most));
    },
  };
}
