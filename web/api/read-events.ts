import { createParser } from "eventsource-parser";

/** A server-sent event with its id; null when it had none. */
export type Identified<Event> = Event & { id: string | null };

/** The events of a stream, those of one network packet at a time. Ends when the stream does; throws when the connection breaks. */
export async function* readEvents<Event extends object>(response: Response): AsyncGenerator<Identified<Event>[], void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let batch: Identified<Event>[] = [];
  const parser = createParser({ onEvent: ({ id, data }) => batch.push({ ...(JSON.parse(data) as Event), id: id ?? null }) });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (batch.length > 0) yield batch;
      batch = [];
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
