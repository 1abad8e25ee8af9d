import { ChatOpenAI } from "@langchain/openai";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { createAgent, summarizationMiddleware } from "langchain";
import { INSTRUCTIONS, serve, settings } from "./serve.js";

const model = new ChatOpenAI({ model: "bench", apiKey: "bench", configuration: { baseURL: settings.modelUrl } });

// https://docs.langchain.com/oss/javascript/langgraph/add-memory: in production a checkpointer backed by a database, whose setup() is called once.
const checkpointer = PostgresSaver.fromConnString(settings.databaseUrl);
await checkpointer.setup();

// https://docs.langchain.com/oss/javascript/langchain/short-term-memory#summarize-messages: the middleware with that page's trigger and keep.
const agent = createAgent({
  model,
  tools: [],
  systemPrompt: INSTRUCTIONS,
  middleware: [summarizationMiddleware({ model, trigger: { tokens: 4000 }, keep: { messages: 20 } })],
  checkpointer,
});

const thread = (sessionId) => ({ configurable: { thread_id: sessionId } });
const ROLES = { human: "user", ai: "assistant" };

serve({
  // https://docs.langchain.com/oss/javascript/langchain/streaming#llm-tokens: the summary's tokens come from another node.
  async *answer({ sessionId, message }) {
    const stream = await agent.stream({ messages: [{ role: "user", content: message }] }, { ...thread(sessionId), streamMode: "messages" });
    for await (const [token, metadata] of stream) if (metadata.langgraph_node === "model_request") yield token.text;
  },
  async messages({ sessionId }) {
    const { values } = await agent.graph.getState(thread(sessionId));
    return (values.messages ?? []).map((message) => ({ role: ROLES[message.type] ?? message.type, content: message.text }));
  },
});
