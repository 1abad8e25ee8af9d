import { AppError } from "../errors/app-error.ts";

/** Deadlines of one model call, in milliseconds. */
export interface AnswerTimeouts {
  firstTokenMs: number;
  /** The longest silence between two tokens. */
  idleMs: number;
}

export const DEFAULT_TIMEOUTS: Readonly<AnswerTimeouts> = { firstTokenMs: 30_000, idleMs: 30_000 };

export interface AnswerDeadlines {
  signal: AbortSignal;
  tokenCame: () => void;
  clear: () => void;
}

/**
 * Starts the deadlines of an answer. Their signal aborts with AppError `model_first_token_timeout` or `model_stalled`, and when `cancelled` does, with
 * its reason. Call `tokenCame` at each token and `clear` at the end.
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

/** A deadline whose signal aborts with a TimeoutError. Disposing of it stops the timer. */
export interface Deadline extends Disposable {
  signal: AbortSignal;
  /** Whether the time is over, as opposed to a cancellation. */
  isOver(): boolean;
}

/** Starts a deadline for work that ends with it; its signal also aborts when `cancelled` does. AbortSignal.timeout would run on after the work. */
export function startDeadline(ms: number, cancelled?: AbortSignal): Deadline {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  const timer = setTimeout(abort, ms).unref();
  return {
    signal: cancelled ? AbortSignal.any([cancelled, controller.signal]) : controller.signal,
    isOver: () => controller.signal.aborted,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Resolves as `work` does, or rejects with the signal's reason as soon as it aborts, also for work that ignores signals. */
export async function abortable<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work();
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Yields the items of `source`, and throws the signal's reason as soon as it aborts, also for a source that ignores signals. Closes the source. */
export async function* abortableItems<Item>(source: AsyncGenerator<Item, void>, signal: AbortSignal): AsyncGenerator<Item, void> {
  let fail: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await new Promise<IteratorResult<Item, void>>((resolve, reject) => {
        fail = reject;
        source.next().then(resolve, reject);
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    source.return().catch(() => undefined); // not awaited: a source that hangs may never close
  }
}
