/** One turn of the event loop counts for no more than this, in milliseconds. */
const LONGEST_ROUND_MS = 100;

/**
 * Calls `onTimeout` after so many milliseconds in which the event loop went round. Time in which it stood still does not count: what was waited
 * for may have arrived, and nobody has read it. Returns what stops the timer.
 */
export function startAwakeTimer(milliseconds: number, onTimeout: () => void): () => void {
  let left = milliseconds;
  let timer: NodeJS.Timeout;
  let last: NodeJS.Immediate | undefined;
  function arm(): void {
    const step = Math.min(left, LONGEST_ROUND_MS);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) arm();
      else last = setImmediate(onTimeout); // behind what can be read now
    }, step);
  }
  arm();
  return () => {
    clearTimeout(timer);
    if (last) clearImmediate(last);
  };
}
