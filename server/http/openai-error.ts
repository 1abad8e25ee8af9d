import { z } from "zod";
import type { AppError } from "../../errors/app-error.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import { HTTP_STATUS } from "./http-status.ts";

export const OpenAIErrorAnswer = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
});

/** Codes with another name at OpenAI. */
const OPENAI_CODES: Partial<Record<ErrorCode, string>> = {
  unauthorized: "invalid_api_key",
  rate_limited: "rate_limit_exceeded",
  token_quota_exceeded: "insufficient_quota",
  cost_quota_exceeded: "insufficient_quota",
  context_too_long: "context_length_exceeded",
};

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

export function toOpenAIError({
  code,
  message,
  details,
}: Pick<AppError, "code" | "message" | "details">): z.infer<typeof OpenAIErrorAnswer> {
  const param = details?.[0]?.field ?? null;
  const known = code === "not_found" && param === "model" ? "model_not_found" : OPENAI_CODES[code];
  return { error: { message, type: typeOf(HTTP_STATUS[code]), param, code: known ?? code } };
}
