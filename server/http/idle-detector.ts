import { setTimeout as sleep } from "node:timers/promises";
import type { Request, RequestHandler } from "express";

const IDLE_MS = 20;
/** In milliseconds. Jobs of one conversation that gather meanwhile run as one. */
const LONGEST_WAIT_MS = 250;

/** Such a request waits for background work itself. */
function waitsForJobs({ method, path }: Request): boolean {
  return method === "POST" && path.endsWith("/settle");
}

export type IdleDetector = ReturnType<typeof makeIdleDetector>;

/** Background work waits for requests: both need the same processor and, embedded, the same database. */
export function makeIdleDetector() {
  let open = 0;
  let lastEndedAt = -Infinity;
  const middleware: RequestHandler = (request, response, next) => {
    if (waitsForJobs(request)) return next();
    open++;
    response.on("close", () => {
      open--;
      lastEndedAt = performance.now();
    });
    next();
  };
  return {
    middleware,
    /** Milliseconds since the last request ended; 0 while one is open. */
    idleMs: (): number => (open > 0 ? 0 : performance.now() - lastEndedAt),
    /** Resolves after LONGEST_WAIT_MS at the latest. */
    async whenIdle(): Promise<void> {
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
