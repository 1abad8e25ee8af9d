import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";
import { answerBrokenHttp, requireTarget } from "./answer-broken-http.ts";
import { dropSlowReaders, SLOWEST_READER, type SlowestReader } from "./limits/drop-slow-readers.ts";

/** How long open connections get to end by themselves at the close, and how often those that have are closed, in milliseconds. */
const CLOSE_GRACE_MS = 2_000;
const CLOSE_IDLE_EVERY_MS = 20;

/**
 * Connections that may wait to be accepted, when a thousand users come at once. The system allows as many as net.core.somaxconn says, 4096
 * on today's Linux; Node alone would ask for 511.
 */
const BACKLOG = 4_096;

/** How long the service waits for clients. What it sends, event streams too, is measured by `slowestReader` alone. */
export interface ConnectionLimits {
  /** Milliseconds for the head of a request, and for all of it. */
  headersTimeout: number;
  requestTimeout: number;
  /** Milliseconds a connection may be idle between two requests. */
  keepAliveTimeout: number;
  /** Milliseconds between two looks at who is late. */
  connectionsCheckingInterval: number;
  /** Bytes of the head of a request. */
  maxHeaderSize: number;
  slowestReader: SlowestReader;
}

/** Idle longer than the 60 seconds after which common proxies close their side: else they would send into a connection that is closing. */
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
  answerBrokenHttp(server);
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

/**
 * Waits for answers that are being sent, then cuts what is left: `server.close()` alone waits for ever on an open stream, and for as long as a
 * connection may be idle when its answer ends after this moment.
 */
export async function closeServer(server: Server, graceMs = CLOSE_GRACE_MS): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const closing = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  server.closeIdleConnections();
  await Promise.race([closed, sleep(graceMs, undefined, { ref: false })]);
  clearInterval(closing);
  server.closeAllConnections();
  await closed;
}
