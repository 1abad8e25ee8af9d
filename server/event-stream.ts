import type { ServerResponse } from "node:http";
import type { TurnEvent } from "../graph/turn-event.ts";
import { placeEvents, type EventPosition } from "./event-position.ts";

export interface EventStreamOptions {
  turnId: string;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  /** Sends the headers alone, at once; otherwise they leave with the first event, in one packet. */
  headersAtOnce: boolean;
  /** What the client has had already. */
  after?: EventPosition;
}

/** Bytes of one write at most: how far a client has read shows only between two writes. */
const LARGEST_WRITE = 16 * 1024;

/** A text in pieces of one write each; the text itself when it is short. */
function piecesOf(text: string): readonly (string | Buffer)[] {
  if (text.length <= LARGEST_WRITE) return [text];
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / LARGEST_WRITE) }, (_, index) =>
    bytes.subarray(index * LARGEST_WRITE, (index + 1) * LARGEST_WRITE),
  );
}

/** Waits until the socket takes more, or is closed: a client that left never drains, and the connection of one that stands still is cut. */
function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off("drain", settle).off("close", settle);
      resolve();
    };
    response.on("drain", settle).on("close", settle);
  });
}

/**
 * Sends a turn's events as server-sent events, one JSON object on one `data:` line each, with the id of its place. Reads on only as fast as
 * the client does; returns when the events end or the client has left.
 */
export async function sendEventStream(
  response: ServerResponse,
  batches: AsyncIterable<TurnEvent[]>,
  { turnId, heartbeatMs, headersAtOnce, after }: EventStreamOptions,
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
    let firstTokenSent = false;
    for await (const batch of placeEvents(batches, after)) {
      if (response.destroyed) return;
      const frames = batch.map(({ id, event }) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`).join("");
      const [first = "", ...rest] = piecesOf(frames);
      let hasRoom = response.write(first);
      if (!firstTokenSent) {
        // Node holds writes until the promises of this moment are done: 3 ms of work before the model is asked, 5 ms with a fast model.
        response.socket?.uncork();
        firstTokenSent = batch.some(({ event }) => event.status === "token");
      }
      if (!hasRoom) await drained(response);
      for (const piece of rest) {
        if (response.destroyed) return;
        hasRoom = response.write(piece);
        if (!hasRoom) await drained(response);
      }
    }
    response.end();
  } finally {
    clearInterval(heartbeat);
  }
}
