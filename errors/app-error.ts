import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** What clients see of an error. */
export interface ErrorContent {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  /** Known for some errors only. */
  retry_after_seconds?: number | undefined;
}

/** A wrong field of a request or setting. */
export interface Problem {
  field: string;
  problem: string;
  /** The number of the wrong message in an import. */
  index?: number;
}

/** The details have all. */
const MAX_PROBLEMS_IN_MESSAGE = 51;

/** The only error that crosses layers. `message`: what failed, with which value, and what to do. `cause` is for the log. */
export class AppError extends Error {
  override readonly name = "AppError";
  /** One of ERROR_CODES. */
  readonly code: ErrorCode;
  readonly details: readonly Problem[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly retryable: boolean;
  /** What another server said, without keys and texts of users: for the log. */
  readonly serverWords: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      details?: readonly Problem[];
      retryAfterSeconds?: number | undefined;
      retryable?: boolean;
      serverWords?: string | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
    this.serverWords = options.serverWords;
  }

  static invalid(problems: readonly Problem[]): AppError {
    const named = problems.slice(0, MAX_PROBLEMS_IN_MESSAGE).map(({ field, problem }) => `${field}: ${problem}`);
    const more = problems.length > named.length ? [`${problems.length - named.length} more, see the details`] : [];
    return new AppError("invalid_request", [...named, ...more].join("; "), { details: problems });
  }

  static fromContent({ code, message, retryable, retry_after_seconds: retryAfterSeconds }: ErrorContent): AppError {
    return new AppError(code, message, { retryable, retryAfterSeconds });
  }

  toContent(): ErrorContent {
    const { code, message, retryable, retryAfterSeconds } = this;
    return { code, message, retryable, ...(retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds }) };
  }
}

/** `internal_error` with the value as its cause, unless it is an AppError. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("internal_error", "Something failed inside the service. The log has the details; report it if it happens again.", {
    cause: error,
  });
}
