import type { ServerResponse } from "node:http";
import { openEventStream } from "../../http/event-stream.ts";
import type { CompletionEvent } from "../completion-stream.ts";
import type { makeResponseEvents } from "./response-events.ts";
import type { ResponseObject } from "./response-object.ts";

type ResponseEvents = ReturnType<typeof makeResponseEvents>;

/** A whole response. Throws the AppError that it ends with. */
export async function wholeResponse(batches: AsyncIterable<CompletionEvent[]>, events: ResponseEvents): Promise<ResponseObject> {
  for (const event of (await Array.fromAsync(batches)).flat()) {
    if (event.kind === "error") throw event.error;
    events.of(event);
  }
  return events.response();
}

interface ResponseStreamOptions {
  events: ResponseEvents;
  headers: Record<string, string>;
  heartbeatMs: number;
  /** Sends only greater sequence numbers. Default: everything. */
  after?: number;
}

/**
 * Streams a response as fast as the client reads. An error before the first event or heartbeat is thrown, to become a plain HTTP error. A
 * later one is the last event, `response.failed`.
 */
export async function sendResponseStream(
  response: ServerResponse,
  batches: AsyncIterable<CompletionEvent[]>,
  { events, headers, heartbeatMs, after = -1 }: ResponseStreamOptions,
): Promise<void> {
  const opening = events.opening.slice(Math.min(after + 1, events.opening.length));
  let number = events.opening.length;
  using stream = openEventStream(response, { heartbeatMs, headers, opening });
  for await (const batch of batches) {
    if (response.destroyed) return;
    if (batch.length === 0) continue;
    const [first] = batch;
    if (first?.kind === "error" && !response.headersSent) throw first.error;
    const atOnce = !response.headersSent;
    const frames = batch.flatMap((event) => events.of(event)).filter(() => number++ > after);
    await stream.send(frames, { atOnce });
  }
  stream.end();
}
