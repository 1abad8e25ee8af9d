import type { ChatOpenAI } from "@langchain/openai";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";

/** An option that only the OpenAI SDK obeys. */
export const HEADER_OF_A_CALL = { headers: { "x-asked-by": "a test" } };

export const modelAt = (baseUrl: string): ChatOpenAI => createOpenAIChatModel({ model: "test-chat", apiKey: "a key", baseUrl });

export const modelOverSdk = (baseUrl: string): ChatOpenAI => modelAt(baseUrl).withConfig(HEADER_OF_A_CALL as object) as ChatOpenAI;

export const WAYS_TO_STREAM: [string, typeof modelAt][] = [
  ["as every turn does", modelAt],
  ["over the OpenAI SDK", modelOverSdk],
];
