/** Events of one batch at most: whoever reads slowly must not get all that has piled up at once, and hold it twice. */
const LONGEST_BATCH = 100;

/** Events in order, kept until nobody refers to the log any more: each reader goes at its own pace and holds nobody up. */
export interface EventLog<Event> {
  append(event: Event): void;
  /** No event comes after this. */
  end(): void;
  /** Every event from the first on, then those to come, until the end; those that are there already come together, up to a hundred. */
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
          const batch = events.slice(next, next + LONGEST_BATCH);
          next += batch.length;
          yield batch;
        } else if (ended) return;
        else await grown;
      }
    },
  };
}
