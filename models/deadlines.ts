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

/** A signal that aborts with a TimeoutError when its time is over, unless the work it is for has ended and disposed of it. */
export interface Deadline extends Disposable {
  signal: AbortSignal;
  /** Whether the time was over, which is another thing than that somebody cancelled. */
  isOver(): boolean;
}

/**
 * A deadline in so many milliseconds for work that is waited for; its signal also aborts when `cancelled` does. AbortSignal.timeout cannot be taken
 * back: those of a turn would all abort when it has long ended, which costs as much as a token of the next turn.
 */
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

/** What `work` comes to, or the signal's reason as soon as it aborts: also for work that knows nothing of signals. */
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

/**
 * The items of `source` until `signal` aborts: then throws its reason at once, also when the source itself does not listen to the
 * signal, as not every chat model does. The source is closed in any case.
 */
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
    source.return().catch(() => undefined); // not awaited: a source that hangs closes when it wakes up, or never
  }
}
