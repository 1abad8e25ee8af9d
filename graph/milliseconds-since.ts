/** Milliseconds from one reading of `performance.now()` to the next, to a hundredth: what timings show. */
export function millisecondsSince(began: number, now = performance.now()): number {
  return Math.round((now - began) * 100) / 100;
}
