import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** What a client may see of an error: no cause, no stack, no text of a lower layer. */
export interface ErrorContent {
  code: ErrorCode;
  message: string;
  /** The same request may succeed when it is sent again unchanged. */
  retryable: boolean;
}

/** A field of a request or a variable of the configuration, what is wrong with it and how to mend it. */
export interface Problem {
  field: string;
  problem: string;
  /** Of the message that is wrong, where messages are given as a list, from 0. */
  index?: number;
}

/** Problems that the message of one error tells; its details have all. */
const MAX_PROBLEMS_IN_MESSAGE = 51;

/**
 * The only error that crosses a layer. `message` says what failed, with which value, and what to do; it is written for the client.
 * The error of the lower layer stays in `cause`, for the log.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  /** Which of the closed list: ERROR_CODES. */
  readonly code: ErrorCode;
  /** Every field that is wrong, when fields are. */
  readonly details: readonly Problem[] | undefined;
  /** When the same request may succeed, in seconds from now, where that is known. */
  readonly retryAfterSeconds: number | undefined;
  /** As its code says, unless whoever throws it knows better. */
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: readonly Problem[]; retryAfterSeconds?: number; retryable?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
  }

  /** An `invalid_request` that names its fields. */
  static invalid(problems: readonly Problem[]): AppError {
    const told = problems.slice(0, MAX_PROBLEMS_IN_MESSAGE).map(({ field, problem }) => `${field}: ${problem}`);
    const more = problems.length > told.length ? [`${problems.length - told.length} more, see the details`] : [];
    return new AppError("invalid_request", [...told, ...more].join("; "), { details: problems });
  }

  /** What of it a client may see. */
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
