import type { ServerResponse } from "node:http";

const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-store, no-transform",
  "x-accel-buffering": "no", // nginx would hold events back
} as const;

/** Most bytes of one write. Backpressure is checked between writes only. */
const LARGEST_WRITE = 16 * 1024;

/** A text in pieces of one write each; the text itself when it is short. */
function piecesOf(text: string): readonly (string | Buffer)[] {
  if (text.length <= LARGEST_WRITE) return [text];
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / LARGEST_WRITE) }, (_, index) =>
    bytes.subarray(index * LARGEST_WRITE, (index + 1) * LARGEST_WRITE),
  );
}

/** Waits for `drain`, or for `close`: a client that left never drains. */
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
 * Writes a text no faster than the client reads. Returns when there is room for more, or the client has left. With `atOnce` it is sent now:
 * Node would hold it until the work that is queued at this moment is done.
 */
export async function writeWithBackpressure(response: ServerResponse, text: string, { atOnce }: { atOnce: boolean }): Promise<void> {
  for (const [index, piece] of piecesOf(text).entries()) {
    if (response.destroyed) return;
    const hasRoom = response.write(piece);
    if (atOnce && index === 0) response.socket?.uncork();
    if (!hasRoom) await untilDrained(response);
  }
}

/** One server-sent event. */
export interface ServerSentEvent {
  /** Where a client that comes back goes on: it sends the last one as Last-Event-ID. */
  id?: string;
  /** One line. */
  data: string;
}

const toFrame = ({ id, data }: ServerSentEvent): string => `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;

export interface EventStreamOptions {
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  headers?: Record<string, string>;
  /** Opens the stream, before the first event or heartbeat. */
  opening?: ServerSentEvent;
}

/** An answer of server-sent events. Disposing of it stops its heartbeat; `end` ends the answer. */
export interface EventStream extends Disposable {
  /** Sends the headers alone. Otherwise they leave with the first event or heartbeat, and until then an error can be a plain answer. */
  flushHeaders(): void;
  /** Returns when there is room for more, or the client has left. `atOnce`: see `writeWithBackpressure`. */
  send(events: readonly ServerSentEvent[], options?: { atOnce?: boolean }): Promise<void>;
  end(): void;
}

/** Every event stream of the service is written here: https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function openEventStream(response: ServerResponse, { heartbeatMs, headers = {}, opening }: EventStreamOptions): EventStream {
  /** Writes the headers, once, and returns the frame that opens the stream. */
  function begin(): string {
    if (response.headersSent) return "";
    response.writeHead(200, { ...headers, ...EVENT_STREAM_HEADERS });
    return opening ? toFrame(opening) : "";
  }
  const heartbeat = setInterval(() => {
    if (!response.destroyed && !response.writableNeedDrain) response.write(`${begin()}: heartbeat\n\n`);
  }, heartbeatMs);
  return {
    flushHeaders() {
      begin();
      response.flushHeaders();
    },
    send: (events, { atOnce = false } = {}) => writeWithBackpressure(response, begin() + events.map(toFrame).join(""), { atOnce }),
    end: () => void response.end(),
    [Symbol.dispose]: () => clearInterval(heartbeat),
  };
}

/** Aborts when the client has left. */
export function abortSignalOnClose(response: ServerResponse, reason?: unknown): AbortSignal {
  const leaving = new AbortController();
  if (response.closed) leaving.abort(reason);
  else response.once("close", () => leaving.abort(reason));
  return leaving.signal;
}
