import { NEAR_LIMIT } from "../models/facts/prompt-budget.ts";
import { emit, type TurnRuntime } from "../turn/context.ts";
import type { ConversationState } from "../turn/state.ts";
import type { TurnUsage } from "../turn/usage.ts";

/** Says once that the context is nearly full: not again until a prompt was below. */
export function tellNearLimit(
  runtime: TurnRuntime,
  { usage_ratio: ratio, context_limit: limit }: TurnUsage,
  state: ConversationState,
): void {
  if (ratio === null || limit === null || ratio < NEAR_LIMIT || state.lastUsageRatio >= NEAR_LIMIT) return;
  const message = `The prompt takes ${Math.round(100 * ratio)} % of the ${limit} tokens that it may have. Older messages are summarised soon.`;
  emit(runtime, { status: "notice", content: { code: "context_near_limit", message } });
}
