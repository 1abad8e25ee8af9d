import { ChatOpenAI } from "@langchain/openai";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { StreamedCompletions } from "./streamed-completions.ts";

/** A model and its server. */
export interface OpenAIChatModelOptions {
  model: string;
  /** Default: none, as local servers need none. */
  apiKey?: string | undefined;
  /** Up to `/v1`. Default: OPENAI_API_BASE or OPENAI_BASE_URL, else OpenAI's server. */
  baseUrl?: string | undefined;
  /** The longest answer. Default: what its server sets. */
  maxTokens?: number | undefined;
}

/** Makes a chat model behind a server of OpenAI's completions protocol, without retries of its own. */
export function createOpenAIChatModel({ model, apiKey, baseUrl, maxTokens }: OpenAIChatModelOptions): ChatOpenAI {
  const fields = {
    model,
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    streamUsage: true,
    useResponsesApi: false,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    // The SDK would log frames that it cannot parse.
    configuration: { logLevel: "off" as const, ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) },
  };
  return new ChatOpenAI({ ...fields, completions: new StreamedCompletions(fields) });
}

/** The smallest context that local servers commonly have. */
const UNKNOWN_MODEL_TOKENS = 8_192;
/** Token counts are estimates. */
const FILL_SHARE = 0.9;

/** The most of a known context that an answer is given room for. */
const ANSWER_SHARE = 0.25;

/**
 * Tokens for a prompt, by the model's metadata in LangChain. In a known context the longest answer has room behind it: some servers insist
 * on that. That of an unknown model is probably larger than is assumed.
 */
export function contextTokenBudget(model: BaseChatModel): number {
  const { maxInputTokens: context } = model.profile;
  if (context === undefined) return Math.floor(UNKNOWN_MODEL_TOKENS * FILL_SHARE);
  const longest = "maxTokens" in model && typeof model.maxTokens === "number" ? model.maxTokens : 0;
  return Math.floor((context - Math.min(longest, context * ANSWER_SHARE)) * FILL_SHARE);
}
