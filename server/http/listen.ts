import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/app-error.ts";
import { answerMalformedRequests, requireTarget } from "./malformed-requests.ts";

interface SlowestReader {
  /** Milliseconds without reading anything. */
  graceMs: number;
  bytesPerSecond: number;
  checkMs: number;
}

/** Sent bytes extend the time of a slow client, so that one large piece does not drop it. */
function dropSlowReaders(server: Server, { graceMs, bytesPerSecond, checkMs }: SlowestReader): void {
  const backlogs = new Map<Socket, { since: number; written: number } | null>();
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
        socket.resetAndDestroy(); // `destroy` would leave megabytes with the system
      }
    }
  }
  const timer = setInterval(look, checkMs).unref();
  server.once("close", () => clearInterval(timer));
}

const CLOSE_GRACE_MS = 2_000;
const CLOSE_IDLE_EVERY_MS = 20;

/** Node's default is 511. Linux allows net.core.somaxconn, 4096. */
const BACKLOG = 4_096;

/** Only `slowestReader` limits answers and event streams. */
export interface ConnectionLimits {
  headersTimeout: number;
  requestTimeout: number;
  /** Between two requests. */
  keepAliveTimeout: number;
  /** Milliseconds between two checks. */
  connectionsCheckingInterval: number;
  /** In bytes. */
  maxHeaderSize: number;
  slowestReader: SlowestReader;
}

/** Common proxies close idle connections after 60 seconds; the service must not be first. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeout: 15_000,
  requestTimeout: 180_000, // 20 MiB, the largest document, at 1 Mbit a second
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
  slowestReader: { graceMs: 30_000, bytesPerSecond: 8 * 1024, checkMs: 2_000 }, // half a minute offline, then 64 kbit a second
};

/** Port 0: any free one. Throws AppError `invalid_configuration` when the port cannot be used. */
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

/** `server.close()` alone would wait for ever on an open stream. */
export async function closeServer(server: Server, graceMs = CLOSE_GRACE_MS): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  server.closeIdleConnections();
  await Promise.race([closed, sleep(graceMs, undefined, { ref: false })]);
  clearInterval(closing);
  server.closeAllConnections();
  await closed;
}
