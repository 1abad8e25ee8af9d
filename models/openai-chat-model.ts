import { ChatOpenAI } from "@langchain/openai";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** A model and where its server is. */
export interface OpenAIChatModelOptions {
  model: string;
  /** Servers on one's own network often want none. */
  apiKey?: string | undefined;
  /** Up to `/v1`. Unset: OPENAI_API_BASE or OPENAI_BASE_URL of the environment, else OpenAI's own server. */
  baseUrl?: string | undefined;
}

/**
 * A chat model behind any server that speaks OpenAI's completions protocol. Its own retries are off (six by default, a dead server
 * would hang for a minute): streamAnswer has the deadlines and the one retry.
 */
export function createOpenAIChatModel({ model, apiKey, baseUrl }: OpenAIChatModelOptions): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    streamUsage: true,
    useResponsesApi: false,
    // The SDK would print frames it cannot parse, and with them what a user or the model said.
    configuration: { logLevel: "off", ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) },
  });
}

/** For a model whose metadata is unknown: the smallest context that servers of one's own commonly give. */
const UNKNOWN_MODEL_TOKENS = 8_192;
/** Share of the model's input that a prompt may fill: token counts are estimates. */
const FILL_SHARE = 0.9;

/** How many tokens a prompt for this model may have, from the model's metadata (LangChain's model profiles). */
export function contextTokenBudget(model: BaseChatModel): number {
  return Math.floor((model.profile.maxInputTokens ?? UNKNOWN_MODEL_TOKENS) * FILL_SHARE);
}
