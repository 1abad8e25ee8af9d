import { ChatOpenAI } from "@langchain/openai";

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
