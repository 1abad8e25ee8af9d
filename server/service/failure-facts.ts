import type { AppError } from "../../errors/app-error.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import { causeFacts } from "../../observe/logger.ts";
import type { Config } from "../settings/config.ts";
import { embeddingServer, modelServer, type Task } from "../parts/open-models.ts";

/** The address of the server that an error is about, without a password. */
function serverOf(code: ErrorCode, config: Config, task: Task | "chat"): string | undefined {
  const originOf = (url: string): string => new URL(url).origin;
  if (code.startsWith("model_") || code === "context_too_long") {
    const server = modelServer(config, task);
    return server ? originOf(server.url) : undefined;
  }
  if (code === "embedder_unavailable") return originOf(embeddingServer(config).url);
  const postgres = config.DATABASE_URL === undefined ? config.DATA_DIR : new URL(config.DATABASE_URL).host;
  if (code === "index_unavailable") return config.MILVUS_ADDRESS ?? postgres;
  return code === "storage_unavailable" ? postgres : undefined;
}

const TASK_OF_JOB: Readonly<Record<string, Task>> = { summarise: "summary", remember: "memory" };

/** What failed in the background, for the log: the server, and why. `kind`: the job's. */
export function failureFacts(error: AppError, config: Config, kind = "") {
  const { code, message: reason } = error;
  const server = serverOf(code, config, TASK_OF_JOB[kind] ?? "chat");
  return { ...(server === undefined ? {} : { server }), code, reason, causes: causeFacts(error) };
}
