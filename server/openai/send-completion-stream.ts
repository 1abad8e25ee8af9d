import type { ServerResponse } from "node:http";
import { EVENT_STREAM_HEADERS } from "../event-stream-headers.ts";
import { startHeartbeat } from "../start-heartbeat.ts";
import { writeAsRead } from "../write-as-read.ts";
import type { CompletionEvent } from "./completion-event.ts";
import type { CompletionFrames } from "./completion-frames.ts";

export interface CompletionStreamOptions {
  frames: CompletionFrames;
  headers: Record<string, string>;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
}

/**
 * Streams an answer, reading on only as fast as the client does; returns when it has ended or the client has left. The stream begins with
 * the first token, so that an error before it is thrown, to become a plain HTTP error; but no later than the first heartbeat, which keeps
 * the connection of a client that waits. An error after that ends the stream as a frame of its own, without [DONE].
 */
export async function sendCompletionStream(
  response: ServerResponse,
  batches: AsyncIterable<CompletionEvent[]>,
  { frames, headers, heartbeatMs }: CompletionStreamOptions,
): Promise<void> {
  /** The first frame, once. */
  function opening(): string {
    if (response.headersSent) return "";
    response.writeHead(200, { ...headers, ...EVENT_STREAM_HEADERS });
    return frames.role();
  }
  const stopHeartbeat = startHeartbeat(response, heartbeatMs, opening);
  try {
    for await (const batch of batches) {
      if (response.destroyed) return;
      if (batch.length === 0) continue;
      const [first] = batch;
      if (first?.kind === "error" && !response.headersSent) throw first.error;
      const atOnce = !response.headersSent;
      await writeAsRead(response, opening() + batch.map((event) => frames.of(event)).join(""), { atOnce });
    }
    response.end();
  } finally {
    stopHeartbeat();
  }
}
