import type { ServerResponse } from "node:http";
import type { TurnEvent } from "../graph/turn-event.ts";
import { EVENT_STREAM_HEADERS } from "./event-stream-headers.ts";
import { placeEvents, type EventPosition } from "./event-position.ts";
import { startHeartbeat } from "./start-heartbeat.ts";
import { writeAsRead } from "./write-as-read.ts";

export interface EventStreamOptions {
  /** As the headers name it. */
  turnId: string;
  /** Whose events they are: another's than `turnId` when that waited in line and found its key taken. */
  told: Promise<string>;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  /** Sends the headers alone, at once; otherwise they leave with the first event, in one packet. */
  headersAtOnce: boolean;
  /** What the client has had already. */
  after?: EventPosition;
}

/**
 * Sends a turn's events as server-sent events, one JSON object on one `data:` line each, with the id of its place. Reads on only as fast as
 * the client does; returns when the events end or the client has left.
 */
export async function sendEventStream(
  response: ServerResponse,
  batches: AsyncIterable<TurnEvent[]>,
  { turnId, told, heartbeatMs, headersAtOnce, after }: EventStreamOptions,
): Promise<void> {
  response.writeHead(200, { ...EVENT_STREAM_HEADERS, "x-turn-id": turnId });
  if (headersAtOnce) response.flushHeaders();
  const stopHeartbeat = startHeartbeat(response, heartbeatMs);
  try {
    let firstTokenSent = false;
    for await (const batch of placeEvents(await told, batches, after)) {
      if (response.destroyed) return;
      const frames = batch.map(({ id, event }) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`).join("");
      await writeAsRead(response, frames, { atOnce: !firstTokenSent });
      firstTokenSent ||= batch.some(({ event }) => event.status === "token");
    }
    response.end();
  } finally {
    stopHeartbeat();
  }
}
