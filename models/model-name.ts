import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** A model's name; without one, its kind. */
export function modelName(model: BaseChatModel): string {
  return "model" in model && typeof model.model === "string" ? model.model : model._llmType();
}
