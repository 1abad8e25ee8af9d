/** The service's settings in every bench: one model's server, the embedder that is built in, no limits, any free port. */
export const benchEnvironment = (modelUrl: string): Record<string, string> => ({
  PORT: "0",
  OPENAI_BASE_URL: modelUrl,
  OPENAI_API_KEY: "bench",
  CHAT_MODEL: "bench",
  EMBEDDING_MODEL: "built-in",
  RATE_LIMIT_PER_MINUTE: "0",
  MAX_CONCURRENT_TURNS_PER_USER: "0",
});
