import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import { answerMalformedRequests, requireTarget } from "./malformed-requests.ts";

/** How slowly a client may read an answer. */
export interface SlowestReader {
  /** Milliseconds a client may read nothing at all. */
  graceMs: number;
  /** What it must read on average after that. */
  bytesPerSecond: number;
  /** Milliseconds between two checks of all connections. */
  checkMs: number;
}

/** Half a minute without a radio link, then 64 kbit a second. */
export const SLOWEST_READER: SlowestReader = { graceMs: 30_000, bytesPerSecond: 8 * 1024, checkMs: 2_000 };

/** Since when a client has been behind, and how many bytes it had been sent by then. */
interface Backlog {
  since: number;
  written: number;
}

/**
 * Cuts connections whose clients read too slowly. Whatever was written since a client fell behind counts as read, which gives one large piece
 * the time it needs.
 */
export function dropSlowReaders(server: Server, { graceMs, bytesPerSecond, checkMs }: SlowestReader): void {
  const backlogs = new Map<Socket, Backlog | null>();
  server.on("connection", (socket: Socket) => {
    backlogs.set(socket, null);
    socket.once("close", () => backlogs.delete(socket));
  });
  function look(): void {
    const now = performance.now();
    for (const [socket, behind] of backlogs) {
      if (socket.writableLength === 0) {
        backlogs.set(socket, null);
      } else if (behind === null) {
        backlogs.set(socket, { since: now, written: socket.bytesWritten - socket.writableLength });
      } else if (now - behind.since > graceMs + ((socket.bytesWritten - behind.written) / bytesPerSecond) * 1_000) {
        socket.resetAndDestroy(); // `destroy` would leave megabytes with the system until the client has read them
      }
    }
  }
  const timer = setInterval(look, checkMs).unref();
  server.once("close", () => clearInterval(timer));
}

/** Milliseconds that open connections get to end at the close, and between two sweeps of idle ones. */
const CLOSE_GRACE_MS = 2_000;
const CLOSE_IDLE_EVERY_MS = 20;

/** Connections that may wait to be accepted; Node's default is 511. The system allows net.core.somaxconn, 4096 on Linux. */
const BACKLOG = 4_096;

/** How long the service waits for clients. Answers and event streams are limited by `slowestReader` alone. */
export interface ConnectionLimits {
  /** Milliseconds for the head of a request, and for all of it. */
  headersTimeout: number;
  requestTimeout: number;
  /** Milliseconds a connection may be idle between two requests. */
  keepAliveTimeout: number;
  /** Milliseconds between two checks of these times. */
  connectionsCheckingInterval: number;
  /** Bytes of the head of a request. */
  maxHeaderSize: number;
  slowestReader: SlowestReader;
}

/** Connections stay idle longer than the 60 seconds after which common proxies close them, so that none sends into a closing one. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeout: 15_000,
  requestTimeout: 180_000, // the largest document, 20 MiB, over a line of 1 Mbit a second
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
  slowestReader: SLOWEST_READER,
};

/** Listens on host and port (0: any free one). Throws AppError `invalid_configuration` when the port is taken or not allowed. */
export async function listen(
  listener: RequestListener,
  port: number,
  host: string,
  { slowestReader, ...timeouts }: ConnectionLimits = CONNECTION_LIMITS,
): Promise<Server> {
  const server = createServer({ ...timeouts, requireHostHeader: false } satisfies ServerOptions, requireTarget(listener));
  answerMalformedRequests(server);
  dropSlowReaders(server, slowestReader);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen({ port, host, backlog: BACKLOG }, resolve);
  try {
    await promise;
  } catch (cause) {
    throw new AppError(
      "invalid_configuration",
      `Cannot listen on HOST ${host}, PORT ${port}: ${(cause as NodeJS.ErrnoException).code}. Choose another PORT or stop what uses it.`,
      { cause },
    );
  }
  return server;
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Waits `graceMs` for open answers, then cuts what is left: `server.close()` alone would wait for ever on an open stream. */
export async function closeServer(server: Server, graceMs = CLOSE_GRACE_MS): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  server.closeIdleConnections();
  await Promise.race([closed, sleep(graceMs, undefined, { ref: false })]);
  clearInterval(closing);
  server.closeAllConnections();
  await closed;
}
