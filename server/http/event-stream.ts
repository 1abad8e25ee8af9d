import type { ServerResponse } from "node:http";

const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache, no-store, no-transform",
  "x-accel-buffering": "no", // for nginx
} as const;

/** In bytes. Backpressure is checked between writes. */
const LARGEST_WRITE = 16 * 1024;

function piecesOf(text: string): readonly (string | Buffer)[] {
  if (text.length <= LARGEST_WRITE) return [text];
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / LARGEST_WRITE) }, (_, index) =>
    bytes.subarray(index * LARGEST_WRITE, (index + 1) * LARGEST_WRITE),
  );
}

/** A client that left never drains. */
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

/** Returns when there is room for more, or the client has left. `atOnce` sends before other queued work. */
export async function writeWithBackpressure(response: ServerResponse, text: string, { atOnce }: { atOnce: boolean }): Promise<void> {
  for (const [index, piece] of piecesOf(text).entries()) {
    if (response.destroyed) return;
    const hasRoom = response.write(piece);
    if (atOnce && index === 0) response.socket?.uncork();
    if (!hasRoom) await untilDrained(response);
  }
}

export interface ServerSentEvent {
  /** The client sends the last one back as Last-Event-ID. */
  id?: string;
  /** Its name. */
  event?: string;
  /** One line. */
  data: string;
}

const toFrame = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;

export interface EventStreamOptions {
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
  headers?: Record<string, string>;
  /** Sent before the first event or heartbeat. */
  opening?: readonly ServerSentEvent[];
}

/** Disposing of it stops its heartbeat. https://html.spec.whatwg.org/multipage/server-sent-events.html */
export function openEventStream(response: ServerResponse, { heartbeatMs, headers = {}, opening = [] }: EventStreamOptions) {
  /** Returns the frames that open the stream. */
  function begin(): string {
    if (response.headersSent) return "";
    response.writeHead(200, { ...headers, ...EVENT_STREAM_HEADERS });
    return opening.map(toFrame).join("");
  }
  const heartbeat = setInterval(() => {
    if (!response.destroyed && !response.writableNeedDrain) response.write(`${begin()}: heartbeat\n\n`);
  }, heartbeatMs);
  return {
    /** Until the headers are sent, an error can be a plain answer. */
    flushHeaders(): void {
      begin();
      response.flushHeaders();
    },
    send: (events: readonly ServerSentEvent[], { atOnce = false } = {}): Promise<void> =>
      writeWithBackpressure(response, begin() + events.map(toFrame).join(""), { atOnce }),
    end: (): void => void response.end(),
    [Symbol.dispose]: (): void => clearInterval(heartbeat),
  };
}

export function abortSignalOnClose(response: ServerResponse, reason?: unknown): AbortSignal {
  const leaving = new AbortController();
  if (response.closed) leaving.abort(reason);
  else response.once("close", () => leaving.abort(reason));
  return leaving.signal;
}
