import type { ServerResponse } from "node:http";

/** Of every answer that is streamed as server-sent events. */
export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-store, no-transform",
  "x-accel-buffering": "no", // nginx would hold events back
} as const;

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
function untilDrained(response: ServerResponse): Promise<void> {
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
 * Writes a text no faster than the client reads; returns when there is room for more or the client has left. With `atOnce` it leaves now:
 * Node holds writes until the promises of this moment are done, 3 ms of work before the model is asked, 5 ms with a fast model.
 */
export async function writeWithBackpressure(response: ServerResponse, text: string, { atOnce }: { atOnce: boolean }): Promise<void> {
  for (const [index, piece] of piecesOf(text).entries()) {
    if (response.destroyed) return;
    const hasRoom = response.write(piece);
    if (atOnce && index === 0) response.socket?.uncork();
    if (!hasRoom) await untilDrained(response);
  }
}

/**
 * Sends a comment every `heartbeatMs` milliseconds, which keeps proxies from closing a quiet stream; none to a client that does not read.
 * `opening` gives what has to come before. Returns what stops it.
 */
export function startHeartbeat(response: ServerResponse, heartbeatMs: number, opening: () => string = () => ""): () => void {
  const timer = setInterval(() => {
    if (!response.destroyed && !response.writableNeedDrain) response.write(`${opening()}: heartbeat\n\n`);
  }, heartbeatMs);
  return () => clearInterval(timer);
}

/** Aborts when the client has left, with `reason` if there is one. */
export function abortSignalOnClose(response: ServerResponse, reason?: unknown): AbortSignal {
  const leaving = new AbortController();
  if (response.closed) leaving.abort(reason);
  else response.once("close", () => leaving.abort(reason));
  return leaving.signal;
}
