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
