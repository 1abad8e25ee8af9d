import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors/app-error.ts";

/** How long open connections get to end by themselves at the close, in milliseconds. */
const CLOSE_GRACE_MS = 2_000;

/** Listens on host and port (0: any free one). Throws AppError `invalid_configuration` when the port is taken or not allowed. */
export async function listen(listener: RequestListener, port: number, host: string): Promise<Server> {
  const server = createServer(listener);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, host, resolve);
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

/** Waits for answers that are being sent, then cuts what is left: `server.close()` alone waits for ever on an open stream. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  await Promise.race([closed, sleep(CLOSE_GRACE_MS, undefined, { ref: false })]);
  server.closeAllConnections();
  await closed;
}
