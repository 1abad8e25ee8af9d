/** Milliseconds between two looks at the clock. */
const LOOK_EVERY_MS = 100;
/** How many looks the lag is told of. */
const LOOKS = 10;

/** How late the event loop of this process is. */
export interface EventLoopLag {
  /** The least of the last second, in milliseconds: what every event waits at present. One long piece of work alone is not in it. */
  milliseconds(): number;
  close(): void;
}

/** Looks how much later than it should a timer fires. That the least counts is how CoDel tells a standing queue from a burst: RFC 8289. */
export function watchEventLoop(): EventLoopLag {
  const lags: number[] = [];
  let due = performance.now() + LOOK_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - due));
    if (lags.length > LOOKS) lags.shift();
    due = now + LOOK_EVERY_MS;
  }, LOOK_EVERY_MS).unref();
  return {
    milliseconds: () => (lags.length < LOOKS ? 0 : Math.min(...lags)),
    close: () => clearInterval(timer),
  };
}
