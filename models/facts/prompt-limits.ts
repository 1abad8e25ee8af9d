import type { LearnedContexts } from "./learned-contexts.ts";
import { promptBudget } from "./prompt-budget.ts";
import type { Refusal } from "./refusal.ts";

/** How long prompts may be, by the model's name, as is known by now. */
export interface PromptLimits {
  /** The most tokens of a prompt. */
  of: (model: string) => number;
  /** Learns from a refused prompt of so many estimated tokens. Returns the estimated tokens that a second attempt may have. */
  refused: (model: string, refusal: Refusal, estimated: number) => number;
}

/** When a server does not say how much it takes, its context is less than the refused prompt, and a second attempt has half of that. */
const GUESSED_SHARE = 0.9;
const UNTOLD_SHARE = 0.5;
/** A server that counts more than so many times the estimate has counted something else. */
const MOST_PER_ESTIMATED = 3;

export interface PromptLimitsParts {
  /** The most tokens of a prompt by what is known before any refusal. */
  known: (model: string) => number;
  /** The most tokens of an answer. */
  longestAnswer: number;
  learned: LearnedContexts;
}

export function makePromptLimits({ known, longestAnswer, learned }: PromptLimitsParts): PromptLimits {
  function of(model: string): number {
    const context = learned.of(model);
    if (context === undefined) return known(model);
    return Math.min(known(model), promptBudget(context, { longestAnswer, isAssumed: false }));
  }
  return {
    of,
    refused(model, { limit, prompt }, estimated) {
      learned.learn(model, limit ?? Math.floor((prompt ?? estimated) * GUESSED_SHARE), { isTold: limit !== null });
      const perEstimated = Math.min(MOST_PER_ESTIMATED, Math.max(1, (prompt ?? 0) / estimated));
      // Some servers refuse a prompt for the answer that it leaves no room for.
      const isForAnswer = limit !== null && prompt !== null && prompt <= limit;
      const most = limit === null ? estimated * UNTOLD_SHARE : isForAnswer ? Math.max(estimated - longestAnswer, estimated / 2) : estimated;
      return Math.floor(Math.min(of(model) / perEstimated, most));
    },
  };
}
