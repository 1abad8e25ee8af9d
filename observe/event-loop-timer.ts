/** Most milliseconds that one round of the event loop counts. */
const LONGEST_ROUND_MS = 100;

/** Calls `onTimeout` after these milliseconds of a running event loop: while it is blocked, an answer may wait unread. Returns the stop. */
export function startEventLoopTimer(milliseconds: number, onTimeout: () => void): () => void {
  let left = milliseconds;
  let timer: NodeJS.Timeout;
  let last: NodeJS.Immediate | undefined;
  function arm(): void {
    const step = Math.min(left, LONGEST_ROUND_MS);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) arm();
      else last = setImmediate(onTimeout); // after pending input is read
    }, step);
  }
  arm();
  return () => {
    clearTimeout(timer);
    if (last) clearImmediate(last);
  };
}
