import type { AppError } from "../../errors/app-error.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import { causeFacts } from "../observe/logger.ts";
import type { Config } from "./config.ts";
import { chatServer, embeddingServer } from "./open-models.ts";

/** The address of the server that an error is about, without a password; undefined when it is about none. */
function serverOf(code: ErrorCode, config: Config): string | undefined {
  const originOf = (url: string): string => new URL(url).origin;
  if (code.startsWith("model_") || code === "context_too_long") return originOf(chatServer(config).url);
  if (code === "embedder_unavailable") return originOf(embeddingServer(config).url);
  const postgres = config.DATABASE_URL === undefined ? config.DATA_DIR : new URL(config.DATABASE_URL).host;
  if (code === "index_unavailable") return config.MILVUS_ADDRESS ?? postgres;
  return code === "storage_unavailable" ? postgres : undefined;
}

/** What failed in the background, for the log: the server, and why. */
export function failureFacts(error: AppError, config: Config) {
  const { code, message: reason } = error;
  const server = serverOf(code, config);
  return { ...(server === undefined ? {} : { server }), code, reason, causes: causeFacts(error) };
}
