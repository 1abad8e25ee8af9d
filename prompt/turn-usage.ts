import { shareOf } from "../models/facts/prompt-budget.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import { estimateTokens } from "../text/tokens.ts";
import type { TurnUsage } from "../turn/usage.ts";
import type { AssembledPrompt } from "./assemble-prompt.ts";

/** What the model's server has counted, else estimated. */
export function toUsage({ usage, text }: ModelAnswer, prompt: AssembledPrompt, tokenBudget: number): TurnUsage {
  const prompt_tokens = usage?.input_tokens ?? prompt.tokens;
  const completion_tokens = usage?.output_tokens ?? estimateTokens(text);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: usage?.total_tokens ?? prompt_tokens + completion_tokens,
    estimated: !usage,
    cached_tokens: usage?.input_token_details?.cache_read ?? null,
    context_limit: tokenBudget,
    usage_ratio: shareOf(prompt_tokens, tokenBudget),
  };
}
