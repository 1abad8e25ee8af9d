import { setTimeout as sleep } from "node:timers/promises";
import type { Request, RequestHandler } from "express";

/** With no request open for this long, in milliseconds, nobody waits for the next answer. */
const IDLE_MS = 20;
/**
 * Background work waits no longer than this, in milliseconds, however busy the service is. Jobs of one conversation that come together meanwhile
 * are one, so that under load a quarter of a second is also less work: a user's turns are indexed and read in one go.
 */
const LONGEST_WAIT_MS = 250;

/**
 * Lets the end of an answer, and the requests that follow it, go before the background work that it left: all need the same processor and,
 * embedded, the same database.
 */
export interface IdleDetector {
  /** Sees every request; one that waits for background work is not waited for. */
  middleware: RequestHandler;
  /** Resolves in the next pause between requests, or after a while. */
  whenIdle(): Promise<void>;
  /** For how long, in milliseconds, no request has been open. */
  idleMs(): number;
}

/** `POST …/settle` itself waits for the background work. */
function waitsForJobs({ method, path }: Request): boolean {
  return method === "POST" && path.endsWith("/settle");
}

export function makeIdleDetector(): IdleDetector {
  let open = 0;
  let lastEndedAt = -Infinity;
  return {
    middleware(request, response, next) {
      if (waitsForJobs(request)) {
        next();
        return;
      }
      open++;
      response.on("close", () => {
        open--;
        lastEndedAt = performance.now();
      });
      next();
    },
    idleMs: () => (open > 0 ? 0 : performance.now() - lastEndedAt),
    async whenIdle() {
      const latest = performance.now() + LONGEST_WAIT_MS;
      for (;;) {
        const now = performance.now();
        const idleAt = open > 0 ? now + IDLE_MS : lastEndedAt + IDLE_MS;
        const wait = Math.min(idleAt, latest) - now;
        if (wait <= 0) return;
        await sleep(Math.ceil(wait));
      }
    },
  };
}
