/** Waits for one step of a long test; one that hangs fails with its name and what `tell` says, long before the whole test would. */
export async function within<Result>(name: string, result: Promise<Result>, tell: () => string, timeoutMs = 45_000): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${name}: not within ${timeoutMs} ms; ${tell()}`)), timeoutMs);
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}
