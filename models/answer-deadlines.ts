import { AppError } from "../errors/app-error.ts";

/** Limits of one model call, in milliseconds. */
export interface AnswerTimeouts {
  firstTokenMs: number;
  /** Longest silence between two tokens. */
  idleMs: number;
}

export const DEFAULT_TIMEOUTS: Readonly<AnswerTimeouts> = { firstTokenMs: 30_000, idleMs: 30_000 };

export interface AnswerDeadlines {
  signal: AbortSignal;
  tokenCame(): void;
  clear(): void;
}

/**
 * Aborts its signal with `model_first_token_timeout` when no token came in time, or `model_stalled` when they stopped coming. Call
 * `tokenCame` at each token and `clear` at the end. Also aborts when `cancelled` does, with its reason.
 */
export function startAnswerDeadlines({ firstTokenMs, idleMs }: AnswerTimeouts, cancelled: AbortSignal | undefined): AnswerDeadlines {
  const controller = new AbortController();
  let idle: NodeJS.Timeout | undefined;
  const firstToken = setTimeout(() => {
    controller.abort(
      new AppError(
        "model_first_token_timeout",
        `The chat model said nothing within ${firstTokenMs} ms. Try again, or raise MODEL_FIRST_TOKEN_TIMEOUT_MS.`,
      ),
    );
  }, firstTokenMs);
  return {
    signal: cancelled ? AbortSignal.any([cancelled, controller.signal]) : controller.signal,
    tokenCame(): void {
      clearTimeout(firstToken);
      if (idle) idle.refresh();
      else {
        idle = setTimeout(() => {
          controller.abort(
            new AppError(
              "model_stalled",
              `The chat model stopped in the middle of its answer for ${idleMs} ms. Try again, or raise MODEL_IDLE_TIMEOUT_MS.`,
            ),
          );
        }, idleMs);
      }
    },
    clear(): void {
      clearTimeout(firstToken);
      clearTimeout(idle);
    },
  };
}
