import type { ServerResponse } from "node:http";
import type { TurnEvent } from "../graph/turn-event.ts";

/** A client that reads nothing for this long, in milliseconds, is gone for all we know; its connection is cut. */
const SLOWEST_READER_MS = 60_000;

export interface EventStreamOptions {
  turnId: string;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  /** Sends the headers alone, at once; otherwise they leave with the first event, in one packet. */
  headersAtOnce: boolean;
}

/** Waits until the socket takes more, or is closed: a client that left never drains. */
function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), SLOWEST_READER_MS);
    const settle = (): void => {
      clearTimeout(timer);
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
}

/**
 * Sends a turn's events as server-sent events, one JSON object on one `data:` line each, with ids from 1. Reads on only as fast as the
 * client does; returns when the events end or the client has left.
 */
export async function sendEventStream(
  response: ServerResponse,
  batches: AsyncIterable<TurnEvent[]>,
  { turnId, heartbeatMs, headersAtOnce }: EventStreamOptions,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no", // nginx would hold events back
    "x-turn-id": turnId,
  });
  if (headersAtOnce) response.flushHeaders();
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(": heartbeat\n\n");
  }, heartbeatMs);
  try {
    let id = 0;
    let firstTokenSent = false;
    for await (const batch of batches) {
      if (response.destroyed) return;
      const frames = batch.map((event) => `id: ${++id}\ndata: ${JSON.stringify(event)}\n\n`).join("");
      const hasRoom = response.write(frames);
      if (!firstTokenSent) {
        // Node holds writes until the promises of this moment are done: 3 ms of work before the model is asked, 5 ms with a fast model.
        response.socket?.uncork();
        firstTokenSent = batch.some(({ status }) => status === "token");
      }
      if (!hasRoom) await drained(response);
    }
    response.end();
  } finally {
    clearInterval(heartbeat);
  }
}
