import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { ModelRouterEmbeddingModel } from "@mastra/core/llm";
import { LibSQLVector } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { PostgresStore } from "@mastra/pg";
import { INSTRUCTIONS, serve, settings } from "./serve.js";

// https://mastra.ai/docs/storage: one storage on the Mastra instance, which every agent's memory uses. https://mastra.ai/integrations/databases/postgresql
const storage = new PostgresStore({ id: "storage", connectionString: settings.databaseUrl });

// https://mastra.ai/docs/memory/semantic-recall: off unless it is switched on with a vector store and an embedder; libSQL is its first example,
// and @mastra/pg's store of vectors needs pgvector, which is not in this Postgres. topK 4 and messageRange 1 are its defaults.
const recall = {
  vector: new LibSQLVector({ id: "vector", url: `file:${settings.vectorFile}` }),
  embedder: new ModelRouterEmbeddingModel({ providerId: "bench", modelId: "bench-embedding", url: settings.modelUrl, apiKey: "bench" }),
};

// https://mastra.ai/docs/memory/message-history: the last 10 messages, which is the default, too.
const memory = new Memory({
  storage,
  ...(settings.semantic ? recall : {}),
  options: { lastMessages: 10, semanticRecall: settings.semantic },
});

const agent = new Agent({
  id: "assistant",
  name: "assistant",
  instructions: INSTRUCTIONS,
  // OpenAICompatibleConfig of @mastra/core/llm: a server of one's own, by chat completions.
  model: { providerId: "bench", modelId: "bench", url: settings.modelUrl, apiKey: "bench", api: "chat" },
  memory,
});
export const mastra = new Mastra({ agents: { agent }, storage });

serve({
  async *answer({ userId, sessionId, message }) {
    const stream = await agent.stream(message, { memory: { thread: sessionId, resource: userId } });
    yield* stream.textStream;
    // The stream ends before the turn's last writes: https://mastra.ai/reference/streaming/agents/MastraModelOutput
    await stream.getFullOutput();
  },
  async messages({ userId, sessionId }) {
    const { messages } = await memory.recall({ threadId: sessionId, resourceId: userId, perPage: false });
    return messages.map(({ role, content }) => ({
      role,
      content: content.parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    }));
  },
});
