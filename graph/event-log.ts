/** A slow reader does not copy the whole backlog. */
const MAX_BATCH = 100;

/** Events in order, for readers that each go at their own pace. */
export interface EventLog<Event> {
  append(event: Event): void;
  end(): void;
  /** All events from the first to the end, in batches of up to 100. */
  readBatches(): AsyncGenerator<Event[], void>;
}

export function makeEventLog<Event>(): EventLog<Event> {
  const events: Event[] = [];
  let ended = false;
  let { promise: grown, resolve: grow } = Promise.withResolvers<void>();
  function wakeReaders(): void {
    grow();
    ({ promise: grown, resolve: grow } = Promise.withResolvers<void>());
  }
  return {
    append(event) {
      events.push(event);
      wakeReaders();
    },
    end() {
      ended = true;
      wakeReaders();
    },
    async *readBatches() {
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
