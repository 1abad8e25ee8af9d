import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** For a model whose metadata is unknown: the smallest context that servers of one's own commonly give. */
const UNKNOWN_MODEL_TOKENS = 8_192;
/** Share of the model's input that a prompt may fill: token counts are estimates. */
const FILL = 0.9;

/** How many tokens a prompt for this model may have, from the model's metadata (LangChain's model profiles). */
export function contextTokenBudget(model: BaseChatModel): number {
  return Math.floor((model.profile.maxInputTokens ?? UNKNOWN_MODEL_TOKENS) * FILL);
}
