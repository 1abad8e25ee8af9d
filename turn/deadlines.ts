import { AppError } from "../errors/app-error.ts";

/** Deadlines of one model call, in milliseconds. */
export interface AnswerTimeouts {
  firstTokenMs: number;
  /** Between two tokens. */
  idleMs: number;
  /** The limit for a server that reports it is still working. Default 300,000. */
  queueMs?: number;
}

export const DEFAULT_TIMEOUTS: Readonly<Required<AnswerTimeouts>> = { firstTokenMs: 30_000, idleMs: 30_000, queueMs: 300_000 };

export type AnswerDeadlines = ReturnType<typeof startAnswerDeadlines>;

/** The signal aborts with `model_first_token_timeout` or `model_stalled`, or with the reason of `cancelled`. */
export function startAnswerDeadlines(
  { firstTokenMs, idleMs, queueMs = DEFAULT_TIMEOUTS.queueMs }: AnswerTimeouts,
  cancelled: AbortSignal | undefined,
) {
  const controller = new AbortController();
  const abortAfter = (ms: number, code: "model_first_token_timeout" | "model_stalled", message: string): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new AppError(code, message)), ms);
  const silent = `The chat model said nothing within ${firstTokenMs} ms. Try again, or raise MODEL_FIRST_TOKEN_TIMEOUT_MS.`;
  const stalled = `The chat model stopped in the middle of its answer for ${idleMs} ms. Try again, or raise MODEL_IDLE_TIMEOUT_MS.`;
  const firstToken = abortAfter(firstTokenMs, "model_first_token_timeout", silent);
  let idle: NodeJS.Timeout | undefined;
  let lastToken = performance.now();
  return {
    signal: cancelled ? AbortSignal.any([cancelled, controller.signal]) : controller.signal,
    tokenCame: (): void => {
      lastToken = performance.now();
      clearTimeout(firstToken);
      idle = idle?.refresh() ?? abortAfter(idleMs, "model_stalled", stalled);
    },
    /** Call it when the server reports that it is still working. */
    isAlive: (): void => {
      const waited = performance.now() - lastToken;
      if (waited + (idle ? idleMs : firstTokenMs) <= queueMs) (idle ?? firstToken).refresh();
    },
    clear: (): void => {
      clearTimeout(firstToken);
      clearTimeout(idle);
    },
  };
}

/** The signal aborts with a TimeoutError, or when `cancelled` does. AbortSignal.timeout would run on after the work. */
export function startDeadline(ms: number, cancelled?: AbortSignal) {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  const timer = setTimeout(abort, ms).unref();
  return {
    signal: cancelled ? AbortSignal.any([cancelled, controller.signal]) : controller.signal,
    isOver: () => controller.signal.aborted,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Rejects with the signal's reason once it aborts, even if the work ignores signals. */
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

/** Throws the signal's reason once it aborts, even if the source ignores signals. Closes the source. */
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
    source.return().catch(() => undefined); // not awaited: a hanging source may never close
  }
}
