import { setTimeout as sleep } from "node:timers/promises";
import type { Request, RequestHandler, Response } from "express";

/** In milliseconds: longer than a program's pause between two turns, shorter than a person's. */
const IDLE_MS = 100;
/** In milliseconds, as often as the queue is read anyway. A conversation's jobs that gather meanwhile run as one. */
const LONGEST_WAIT_MS = 2_000;

/** Such a request itself waits for background work. */
function waitsForJobs({ method, path }: Request): boolean {
  return method === "POST" && path.endsWith("/settle");
}

export interface IdleDetector {
  middleware: RequestHandler;
  /** Milliseconds since the last request ended; 0 while one is open. */
  idleMs(): number;
  /** Resolves after LONGEST_WAIT_MS at the latest, and at once while a request waits for background work. */
  whenIdle(): Promise<void>;
}

/** Background work waits for requests: both need the same processor and, embedded, the same database. */
export function makeIdleDetector(): IdleDetector {
  let open = 0;
  let lastEndedAt = -Infinity;
  let settling = 0;
  let settlingBegins = new AbortController();

  function hurryUntilClosed(response: Response): void {
    settling++;
    settlingBegins.abort();
    response.on("close", () => {
      settling--;
      if (settling === 0) settlingBegins = new AbortController();
    });
  }

  const middleware: RequestHandler = (request, response, next) => {
    if (waitsForJobs(request)) {
      hurryUntilClosed(response);
      return next();
    }
    open++;
    response.on("close", () => {
      open--;
      lastEndedAt = performance.now();
    });
    next();
  };
  return {
    middleware,
    idleMs: (): number => (open > 0 ? 0 : performance.now() - lastEndedAt),
    async whenIdle(): Promise<void> {
      const latest = performance.now() + LONGEST_WAIT_MS;
      while (settling === 0) {
        const now = performance.now();
        const idleAt = open > 0 ? now + IDLE_MS : lastEndedAt + IDLE_MS;
        const wait = Math.min(idleAt, latest) - now;
        if (wait <= 0) return;
        await sleep(Math.ceil(wait), undefined, { signal: settlingBegins.signal }).catch(() => undefined);
      }
    },
  };
}
