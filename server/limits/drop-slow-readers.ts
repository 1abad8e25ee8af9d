import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How slowly a client may read. */
export interface SlowestReader {
  /** Milliseconds a client may read nothing at all. */
  graceMs: number;
  /** What it must read on the average after that, while something waits for it. */
  bytesPerSecond: number;
  /** Milliseconds between two looks at all connections. */
  checkMs: number;
}

/** Half a minute of a lost radio link, then 64 kbit a second. */
export const SLOWEST_READER: SlowestReader = { graceMs: 30_000, bytesPerSecond: 8 * 1024, checkMs: 2_000 };

/** Since when bytes have been waiting for a client without a break, and how many it had been given before. */
interface Backlog {
  since: number;
  written: number;
}

/**
 * Cuts connections whose clients read more slowly than that, for every kind of answer. All that was written since the client fell behind
 * counts as if it had been read, so that one large piece has the time it needs; whoever writes on only when there is room gives a client
 * that stands still no more.
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
        socket.resetAndDestroy(); // closing alone would leave megabytes with the system until the client has read them
      }
    }
  }
  const timer = setInterval(look, checkMs).unref();
  server.once("close", () => clearInterval(timer));
}
