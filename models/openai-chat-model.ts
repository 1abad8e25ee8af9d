import type { ChatOpenAI } from "@langchain/openai";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ASSUMED_CONTEXT } from "./facts/model-facts.ts";
import { promptBudget } from "./facts/prompt-budget.ts";
import type { Amendment } from "./wire/amendments.ts";
import type { Dialects } from "./wire/dialects.ts";
import type { Gateway } from "./wire/server-address.ts";
import { ServerChatModel } from "./wire/server-completions.ts";

/** A model and its server. */
export interface OpenAIChatModelOptions extends Gateway {
  model: string;
  /** Default: none, as local servers need none. */
  apiKey?: string | undefined;
  /** Up to `/v1`. Default: OpenAI's server. */
  baseUrl?: string | undefined;
  /** The longest answer. Default: the server's. */
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  /** Keeps what the server teaches. Default: the model does. */
  dialects?: Dialects | undefined;
  /** What its server is known to need. Default: nothing. */
  amendments?: readonly Amendment[] | undefined;
}

const OPENAI_URL = "https://api.openai.com/v1";

/** Makes a chat model behind a server of OpenAI's completions protocol, without retries of its own. */
export function createOpenAIChatModel(options: OpenAIChatModelOptions): ChatOpenAI {
  const { model, apiKey, baseUrl = OPENAI_URL, maxTokens, temperature, ...server } = options;
  const fields = {
    model,
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    streamUsage: true,
    useResponsesApi: false,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
  };
  return new ServerChatModel(fields, { ...server, url: baseUrl, apiKey });
}

/** The most tokens of an answer; 0: unbounded. */
export function answerBound(model: BaseChatModel): number {
  return "maxTokens" in model && typeof model.maxTokens === "number" ? model.maxTokens : 0;
}

/** Tokens for a prompt, by the model's metadata in LangChain. */
export function contextTokenBudget(model: BaseChatModel): number {
  const { maxInputTokens: context } = model.profile;
  return promptBudget(context ?? ASSUMED_CONTEXT, { longestAnswer: answerBound(model), isAssumed: context === undefined });
}
