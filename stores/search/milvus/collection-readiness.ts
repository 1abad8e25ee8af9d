import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../errors/app-error.ts";
import { MilvusRefusal, NOT_FOUND, NOT_LOADED, throwRefusal } from "./milvus-errors.ts";

/**
 * Milliseconds from preparing to the first write: twice the time of preparing, within these bounds. Milvus Lite opens a new collection
 * twice and loses writes when two calls touch it at once.
 */
const SETTLE_MS = { least: 500, most: 3_000 };

/** After the first repeat Milvus Lite may serve a copy that it then drops. */
const READ_REPEATS = 2;

/** Creates the collection only with `creates`. Returns whether it exists. */
export type Prepare = (creates: boolean) => Promise<boolean>;

export interface PreparedCollection {
  isThere(): Promise<boolean>;
  prepare: Prepare;
  /** Whether it has to settle. */
  isLite(): Promise<boolean>;
}

export interface Readiness {
  /** One attempt at a time; the next use repeats a failed one. */
  prepare: Prepare;
  /** Runs a call on an existing collection, else returns `absent`. Prepares only when the server refuses the call. */
  read<Result>(call: () => Promise<Result>, absent: Result): Promise<Result>;
  /** Prepares first, however long that takes. */
  change<Result>(call: () => Promise<Result>, absent: Result): Promise<Result>;
  /** Creates and prepares first, however long that takes. */
  write<Result>(call: () => Promise<Result>): Promise<Result>;
}

function isReleased(error: unknown): boolean {
  return error instanceof MilvusRefusal && (error.code === NOT_FOUND || error.code === NOT_LOADED);
}

/** Throws AppError `index_unavailable` when `preparing` takes longer; it goes on. */
async function withPatience<Result>(preparing: Promise<Result>, patienceMs: number): Promise<Result> {
  const timer = new AbortController();
  const tooLong = sleep(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new AppError("index_unavailable", "The search index is being prepared. Try again in a few seconds.");
  });
  tooLong.catch(() => undefined);
  return Promise.race([preparing, tooLong]).finally(() => timer.abort());
}

/**
 * Prepares a collection, also after restarts of the server; a read waits at most `patienceMs`. Calls throw AppError `index_unavailable`.
 */
export function makeReadiness(collection: PreparedCollection, patienceMs: number): Readiness {
  let attempt: Promise<boolean> | undefined;
  let isReady = false;
  let isServed = false;
  let settledAt = 0;

  async function begin(creates: boolean): Promise<boolean> {
    try {
      const settles = await collection.isLite();
      const begun = performance.now();
      isReady = await collection.prepare(creates);
      const ended = performance.now();
      if (settles) settledAt = ended + Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, 2 * (ended - begun)));
    } catch (error) {
      return throwRefusal(error);
    } finally {
      if (!isReady) attempt = undefined;
    }
    return isReady;
  }
  const prepare: Prepare = (creates) => (attempt ??= begin(creates));
  function forget(used: Promise<boolean> | undefined): void {
    if (attempt !== used || !isReady) return;
    attempt = undefined;
    isReady = false;
  }

  async function onSettled<Result>(call: () => Promise<Result>, ifAbsent?: { result: Result }): Promise<Result> {
    for (let isFirst = true; ; isFirst = false) {
      let used = prepare(!ifAbsent);
      while (!(await used)) {
        if (ifAbsent) return ifAbsent.result;
        used = prepare(true);
      }
      await sleep(Math.max(0, settledAt - performance.now()));
      try {
        return await call();
      } catch (error) {
        forget(used);
        if (!isFirst || !isReleased(error)) return throwRefusal(error);
      }
    }
  }

  return {
    prepare,
    async read(call, absent) {
      for (let repeats = 0; ; repeats++) {
        const used = attempt;
        const wasKnown = isReady || isServed;
        try {
          // The client does not say that a collection is missing.
          if (!wasKnown && !(await collection.isThere())) return absent;
          const result = await call();
          isServed = true;
          return result;
        } catch (error) {
          const mayHelp = error instanceof MilvusRefusal && (!wasKnown || isReleased(error));
          if (!mayHelp || repeats === READ_REPEATS) return throwRefusal(error);
        }
        isServed = false;
        forget(used);
        if (!(await withPatience(prepare(false), patienceMs))) return absent;
      }
    },
    change: (call, absent) => onSettled(call, { result: absent }),
    write: (call) => onSettled(call),
  };
}
