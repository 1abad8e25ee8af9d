import type { ChatOpenAI } from "@langchain/openai";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";

export const modelAt = (baseUrl: string): ChatOpenAI => createOpenAIChatModel({ model: "test-chat", apiKey: "a key", baseUrl });
