/** A slow reader does not copy the whole backlog. */
const MAX_BATCH = 100;

export type EventLog<Event> = ReturnType<typeof makeEventLog<Event>>;

/** Events in order, for readers that each go at their own pace. */
export function makeEventLog<Event>() {
  const events: Event[] = [];
  let ended = false;
  let { promise: grown, resolve: grow } = Promise.withResolvers<void>();
  function wakeReaders(): void {
    grow();
    ({ promise: grown, resolve: grow } = Promise.withResolvers<void>());
  }
  return {
    append(event: Event): void {
      events.push(event);
      wakeReaders();
    },
    end(): void {
      ended = true;
      wakeReaders();
    },
    /** All events from the first to the end, in batches of up to 100. */
    async *readBatches(): AsyncGenerator<Event[], void> {
      let next = 0;
      for (;;) {
        if (next < events.length) {
          const batch = events.slice(next, next + MAX_BATCH);
          next += batch.length;
          yield batch;
        } else if (ended) return;
        else await grown;
      }
    },
  };
}
