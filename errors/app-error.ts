import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** The part of an error for clients: no cause, no stack, no text of a lower layer. */
export interface ErrorContent {
  code: ErrorCode;
  message: string;
  /** Whether the same request may succeed when it is sent again. */
  retryable: boolean;
}

/** What is wrong with a field of a request or a variable of the configuration, and how to mend it. */
export interface Problem {
  field: string;
  problem: string;
  /** The index of the wrong message in a list of messages. */
  index?: number;
}

/** Most problems in the message of an error; its details have all. */
const MAX_PROBLEMS_IN_MESSAGE = 51;

/** The only error that crosses layers. `message` tells the client what failed, with which value, and what to do; `cause` is for the log. */
export class AppError extends Error {
  override readonly name = "AppError";
  /** One of ERROR_CODES. */
  readonly code: ErrorCode;
  /** The wrong fields, if any. */
  readonly details: readonly Problem[] | undefined;
  /** Seconds until the same request may succeed, if known. */
  readonly retryAfterSeconds: number | undefined;
  /** Default: as ERROR_CODES says. */
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

  /** Makes an `invalid_request` that names its fields. */
  static invalid(problems: readonly Problem[]): AppError {
    const named = problems.slice(0, MAX_PROBLEMS_IN_MESSAGE).map(({ field, problem }) => `${field}: ${problem}`);
    const more = problems.length > named.length ? [`${problems.length - named.length} more, see the details`] : [];
    return new AppError("invalid_request", [...named, ...more].join("; "), { details: problems });
  }

  /** The part for clients. */
  toContent(): ErrorContent {
    return { code: this.code, message: this.message, retryable: this.retryable };
  }
}

/** Turns a thrown value into an AppError: `internal_error` with the value as its cause, unless it is one already. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError("internal_error", "Something failed inside the service. The log has the details; report it if it happens again.", {
    cause: error,
  });
}
