import { setTimeout as sleep } from "node:timers/promises";
import type { RequestHandler } from "express";

/** With no request open for this long, in milliseconds, nobody waits for the next answer. */
const QUIET_MS = 20;
/** Background work waits no longer than this, in milliseconds, however busy the service is. */
const LONGEST_WAIT_MS = 70;

/**
 * Lets the end of an answer, and the requests that follow it, go before the background work that it left: all need the same processor and,
 * embedded, the same database.
 */
export interface RequestsFirst {
  /** Sees every request. */
  notice: RequestHandler;
  /** Resolves in the next pause between requests, or after a while. */
  whenQuiet(): Promise<void>;
}

export function makeRequestsFirst(): RequestsFirst {
  let open = 0;
  let lastEndedAt = -Infinity;
  return {
    notice(_request, response, next) {
      open++;
      response.on("close", () => {
        open--;
        lastEndedAt = performance.now();
      });
      next();
    },
    async whenQuiet() {
      const latest = performance.now() + LONGEST_WAIT_MS;
      for (;;) {
        const now = performance.now();
        const quietAt = open > 0 ? now + QUIET_MS : lastEndedAt + QUIET_MS;
        const wait = Math.min(quietAt, latest) - now;
        if (wait <= 0) return;
        await sleep(Math.ceil(wait));
      }
    },
  };
}
