import { startProcess, type MeasuredProcess } from "./start-process.ts";

/** The settings of every bench: one model's server, the embedder that is built in, no limits, any free port. */
const settingsFor = (modelUrl: string): Record<string, string> => ({
  PORT: "0",
  NODE_ENV: "production",
  OPENAI_BASE_URL: modelUrl,
  OPENAI_API_KEY: "bench",
  CHAT_MODEL: "bench",
  EMBEDDING_MODEL: "built-in",
  RATE_LIMIT_PER_MINUTE: "0",
  MAX_CONCURRENT_TURNS_PER_USER: "0",
});

/** This service in a process of its own; its `line` is its address. What `environment` says goes before the settings of every bench. */
export function startService(modelUrl: string, environment: Record<string, string>): Promise<MeasuredProcess> {
  return startProcess("server/main.ts", /"url":"([^"]+)"/, { environment: { ...settingsFor(modelUrl), ...environment } });
}
