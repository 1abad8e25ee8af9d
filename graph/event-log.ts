/** Events in order, kept until nobody refers to the log any more: each reader goes at its own pace and holds nobody up. */
export interface EventLog<Event> {
  append(event: Event): void;
  /** No event comes after this. */
  end(): void;
  /** Every event from the first on, then those to come, until the end. */
  read(): AsyncGenerator<Event, void>;
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
    async *read() {
      for (let next = 0; ; next++) {
        while (next === events.length) {
          if (ended) return;
          await grown;
        }
        yield events[next] as Event;
      }
    },
  };
}
