import { ChatOpenAI } from "@langchain/openai";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ASSUMED_CONTEXT } from "./facts/model-facts.ts";
import { promptBudget } from "./facts/prompt-budget.ts";
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
  temperature?: number | undefined;
}

/** Makes a chat model behind a server of OpenAI's completions protocol, without retries of its own. */
export function createOpenAIChatModel({ model, apiKey, baseUrl, maxTokens, temperature }: OpenAIChatModelOptions): ChatOpenAI {
  const fields = {
    model,
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    streamUsage: true,
    useResponsesApi: false,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    // The SDK would log frames that it cannot parse.
    configuration: { logLevel: "off" as const, ...(baseUrl === undefined ? {} : { baseURL: baseUrl }) },
  };
  return new ChatOpenAI({ ...fields, completions: new StreamedCompletions(fields) });
}

/** The most tokens of an answer; 0 when it is not bound. */
export function answerBound(model: BaseChatModel): number {
  return "maxTokens" in model && typeof model.maxTokens === "number" ? model.maxTokens : 0;
}

/** Tokens for a prompt, by the model's metadata in LangChain. */
export function contextTokenBudget(model: BaseChatModel): number {
  const { maxInputTokens: context } = model.profile;
  return promptBudget(context ?? ASSUMED_CONTEXT, { longestAnswer: answerBound(model), isAssumed: context === undefined });
}
