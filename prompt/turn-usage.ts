import { NEAR_LIMIT, shareOf } from "../models/facts/prompt-budget.ts";
import type { ModelAnswer } from "../models/stream-answer.ts";
import { estimateTokens } from "../text/tokens.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { ConversationState } from "../turn/state.ts";
import type { TurnUsage } from "../turn/usage.ts";
import type { AssembledPrompt } from "./assemble-prompt.ts";

/** The server's counts, else estimates. */
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

/** Says once that the context is nearly full, and again only after a smaller prompt. */
export function tellNearLimit(
  runtime: TurnRuntime,
  { usage_ratio: ratio, context_limit: limit }: TurnUsage,
  state: ConversationState,
): void {
  if (ratio === null || limit === null || ratio < NEAR_LIMIT || state.lastUsageRatio >= NEAR_LIMIT) return;
  const message = `The prompt takes ${Math.round(100 * ratio)} % of the ${limit} tokens that it may have. Older messages are summarised soon.`;
  emit(runtime, { status: "notice", content: { code: "context_near_limit", message } });
}
