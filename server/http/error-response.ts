import type { ErrorRequestHandler } from "express";
import type { Logger } from "pino";
import { z } from "zod";
import { AppError, toAppError } from "../../errors/app-error.ts";
import { errorFacts } from "../../observe/logger.ts";
import { HTTP_STATUS } from "./http-status.ts";
import { toOpenAIError } from "./openai-error.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error-codes.ts";

/** By `type`: https://github.com/expressjs/body-parser#errors */
function fromExpress(error: unknown, maxBodyBytes: number): AppError {
  if (!(error instanceof Error) || error instanceof AppError) return toAppError(error);
  const { type, limit = maxBodyBytes, status = 500 } = error as { type?: string; limit?: number; status?: number };
  const refusal = (code: ErrorCode, message: string): AppError => new AppError(code, message, { cause: error });
  switch (type) {
    case "entity.parse.failed":
      return refusal("invalid_request", "The body is not a JSON object. Send one, encoded as UTF-8.");
    case "entity.too.large":
      return refusal("body_too_large", `The body is larger than ${limit} bytes. Shorten it.`);
    case "encoding.unsupported":
    case "charset.unsupported":
      return refusal("unsupported_media_type", "The body's encoding is not supported. Send UTF-8, plain or gzipped.");
  }
  if (!(status >= 400 && status < 500)) return toAppError(error);
  const what = "Check the percent-encoding of its address, and the length and compression of its body.";
  return refusal("invalid_request", `The request cannot be read. ${what}`);
}

export const ErrorAnswer = z.object({
  error: z.object({
    code: z.enum(Object.keys(ERROR_CODES) as ErrorCode[]),
    message: z.string().describe("What failed, with which value, and what to do."),
    details: z
      .array(z.object({ field: z.string(), problem: z.string(), index: z.int().optional().describe("Of a wrong message of an import.") }))
      .optional()
      .describe("Every field that is wrong, when fields are."),
  }),
});

const OPENAI_PATH = /^\/v1(\/|$)/i;

/** Answers with `{"error": {code, message, details?}}`, or in OpenAI's form. Causes are only logged. */
export function errorResponse(log: Logger, maxBodyBytes: number): ErrorRequestHandler {
  return function answerError(thrown, request, response, next) {
    const error = fromExpress(thrown, maxBodyBytes);
    const status = HTTP_STATUS[error.code];
    const { path } = (request.route ?? {}) as { path?: string };
    const isOfService = status >= 500 || (status === 422 && error.code.startsWith("model_"));
    if (isOfService) log.error({ ...errorFacts(error), method: request.method, path }, "request failed");
    if (response.headersSent) return next(thrown); // ends the connection, which shows the cut
    const retryAfter = error.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
    if (retryAfter !== undefined) response.set("retry-after", String(retryAfter));
    if (!error.retryable) response.set("x-should-retry", "false"); // OpenAI's clients repeat a 409 or a 500 without it
    const { code, message, details } = error;
    const body = { error: { code, message, ...(details ? { details } : {}) } };
    response.status(status).json(OPENAI_PATH.test(request.path) ? toOpenAIError(error) : body);
  };
}
