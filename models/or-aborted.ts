/** What `work` comes to, or the signal's reason as soon as it aborts: also for work that knows nothing of signals. */
export async function orAborted<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
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
