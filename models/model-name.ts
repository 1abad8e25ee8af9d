import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** What a model calls itself; without a name of its own, its kind. */
export function modelName(model: BaseChatModel): string {
  return "model" in model && typeof model.model === "string" ? model.model : model._llmType();
}
