import { createParser } from "eventsource-parser";

export type Identified<Event> = Event & { id: string | null };

/** The events of a stream, in batches as they arrive. Throws when the connection breaks. */
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
