import { setTimeout as sleep } from "node:timers/promises";
import type { Request, RequestHandler } from "express";

/** Milliseconds without an open request after which the service is idle. */
const IDLE_MS = 20;
/** The longest that background work waits, in milliseconds. Jobs of one conversation that gather meanwhile are done in one go. */
const LONGEST_WAIT_MS = 250;

/** Tells background work when no request is open: both need the same processor and, embedded, the same database. */
export interface IdleDetector {
  /** Counts open requests, but not those that themselves wait for background work. */
  middleware: RequestHandler;
  /** Resolves when the service is idle, or after LONGEST_WAIT_MS. */
  whenIdle(): Promise<void>;
  /** Milliseconds since the last request ended; 0 while one is open. */
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
