import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, AiSdkEmbeddingAdapter, Memory } from "@voltagent/core";
import { PostgreSQLMemoryAdapter, PostgreSQLVectorAdapter } from "@voltagent/postgres";
import { INSTRUCTIONS, serve, settings } from "./serve.js";

// https://voltagent.dev/docs/agents/providers: any provider of the AI SDK.
const provider = createOpenAICompatible({ name: "bench", baseURL: settings.modelUrl, apiKey: "bench", includeUsage: true });

// https://voltagent.dev/docs/agents/memory/postgres, with its vectors in the same Postgres, for which it needs no extension.
// Searching by meaning is on by itself when there are an embedder and a vector store: https://voltagent.dev/docs/agents/memory/semantic-search
const recall = {
  embedding: new AiSdkEmbeddingAdapter(provider.textEmbeddingModel("bench-embedding")),
  vector: new PostgreSQLVectorAdapter({ connection: settings.databaseUrl }),
};
// 20 connections as in that page's production set-up. With the default of 10 it stands still for ever once 10 conversations begin at the same moment:
// createConversation() holds one connection and waits for a second.
const memory = new Memory({
  storage: new PostgreSQLMemoryAdapter({ connection: settings.databaseUrl, maxConnections: 20 }),
  ...(settings.semantic ? recall : {}),
});

const agent = new Agent({ name: "assistant", instructions: INSTRUCTIONS, model: provider.chatModel("bench"), memory });

serve({
  // https://voltagent.dev/docs/agents/memory/overview#usage-with-user-and-conversation-ids
  async *answer({ userId, sessionId, message }) {
    const result = await agent.streamText(message, { memory: { userId, conversationId: sessionId } });
    yield* result.textStream;
    await Promise.all([result.text, result.usage, result.finishReason]);
  },
  async messages({ userId, sessionId }) {
    const messages = await memory.getMessages(userId, sessionId);
    return messages.map(({ role, parts }) => ({ role, content: parts.map((part) => (part.type === "text" ? part.text : "")).join("") }));
  },
});
