import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** What a client may see of an error: no cause, no stack, no text of a lower layer. */
export interface ErrorContent {
  code: ErrorCode;
  message: string;
  retryable: boolean;
}

/**
 * The only error that crosses a layer. `message` says what failed, with which value, and what to do; it is written for the client.
 * The error of the lower layer stays in `cause`, for the log.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  /** Names the offending field of a request, when there is one. */
  readonly field: string | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; field?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.field = options.field;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }

  toContent(): ErrorContent {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

/** Any thrown value as an AppError; what is not one already becomes `internal_error` with the original as its cause. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("internal_error", "Something failed inside the service. The log has the details; report it if it happens again.", {
    cause: error,
  });
}
