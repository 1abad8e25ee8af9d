import type { ErrorRequestHandler, RequestHandler } from "express";
import type { Logger } from "pino";
import { z } from "zod";
import { AppError, toAppError } from "../../errors/app-error.ts";
import { errorFacts } from "../observe/logger.ts";
import { HTTP_STATUS } from "./http-status.ts";
import { toOpenAIError } from "../openai/openai-error.ts";
import { ERROR_CODES, type ErrorCode } from "../../errors/error-codes.ts";

/** What body-parser and Express throw, by its `type`: https://github.com/expressjs/body-parser#errors */
function fromExpress(error: unknown, maxBodyBytes: number): AppError {
  if (!(error instanceof Error) || error instanceof AppError) return toAppError(error);
  const type = "type" in error ? error.type : undefined;
  if (type === "entity.parse.failed")
    return new AppError("invalid_request", "The body is not a JSON object. Send one, encoded as UTF-8.", { cause: error });
  if (type === "entity.too.large") {
    const limit = "limit" in error && typeof error.limit === "number" ? error.limit : maxBodyBytes; // each route has its own
    return new AppError("body_too_large", `The body is larger than ${limit} bytes. Shorten it.`, { cause: error });
  }
  if (type === "encoding.unsupported" || type === "charset.unsupported") {
    return new AppError("unsupported_media_type", "The body's encoding is not supported. Send UTF-8, plain or gzipped.", {
      cause: error,
    });
  }
  const isClientError = "status" in error && typeof error.status === "number" && error.status >= 400 && error.status < 500;
  return isClientError
    ? new AppError(
        "invalid_request",
        "The request cannot be read. Check the percent-encoding of its address, and the length and compression of its body.",
        { cause: error },
      )
    : toAppError(error);
}

export const unknownRoute: RequestHandler = (request) => {
  throw new AppError("not_found", `There is no ${request.method} ${request.path}. GET /openapi.json lists the routes.`);
};

/** An error of every route but OpenAI's. */
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

/** Paths that speak OpenAI's protocol. */
const OPENAI_PATH = /^\/v1(\/|$)/i;

/** Answers every error as `{"error": {code, message, details?}}`, or in OpenAI's form. Causes go to the log alone. */
export function errorResponse(log: Logger, maxBodyBytes: number): ErrorRequestHandler {
  return function answerError(thrown, request, response, next) {
    const error = fromExpress(thrown, maxBodyBytes);
    const status = HTTP_STATUS[error.code];
    if (status >= 500)
      log.error(
        { ...errorFacts(error), method: request.method, path: (request.route as { path?: string } | undefined)?.path },
        "request failed",
      );
    if (response.headersSent) return next(thrown); // ends the connection, so that the client sees that the answer is cut
    const retryAfter = error.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
    if (retryAfter !== undefined) response.set("retry-after", String(retryAfter));
    const { code, message, details } = error;
    const body = { error: { code, message, ...(details ? { details } : {}) } };
    response.status(status).json(OPENAI_PATH.test(request.path) ? toOpenAIError(error) : body);
  };
}
