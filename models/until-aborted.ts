/**
 * The items of `source` until `signal` aborts: then throws its reason at once, also when the source itself does not listen to the
 * signal, as not every chat model does. The source is closed in any case.
 */
export async function* untilAborted<Item>(source: AsyncGenerator<Item, void>, signal: AbortSignal): AsyncGenerator<Item, void> {
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
