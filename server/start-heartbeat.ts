import type { ServerResponse } from "node:http";

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
