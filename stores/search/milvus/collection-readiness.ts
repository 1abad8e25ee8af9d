import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../errors/app-error.ts";
import { MilvusRefusal, throwIndexError } from "./milvus-errors.ts";

/**
 * Between preparing and the first write, in milliseconds: twice what preparing took, within these. When two calls are the first to touch a
 * collection, Milvus Lite opens it twice and keeps the one that is done last: what was written to the other is never found again. Whoever is
 * still opening it, in another process too, is to be done before. Milvus itself would not need it.
 */
const SETTLE_MS = { least: 500, most: 3_000 };

/** One more than a server that behaves needs: of a collection that is opened twice, the one that was loaded may be the one that is not kept. */
const READ_REPEATS = 2;

/** With `creates` it is there afterwards; without, what is missing stays so. */
export type Prepare = (creates: boolean) => Promise<boolean>;

/** What is kept ready. */
export interface PreparedCollection {
  isThere(): Promise<boolean>;
  prepare: Prepare;
}

export interface Readiness {
  /** Prepares, if that has not been done. One attempt at a time; what failed is tried again at the next use. Returns whether it is there. */
  prepare: Prepare;
  /** Runs a call on what is there; `absent` when nothing is. Creates nothing. Prepares only when the server refuses the call. */
  read<Result>(call: () => Promise<Result>, absent: Result): Promise<Result>;
  /** The same for a call that changes what is there: prepares before, however long that takes. */
  change<Result>(call: () => Promise<Result>, absent: Result): Promise<Result>;
  /** Creates what is missing, prepares it however long that takes, and runs the call. */
  write<Result>(call: () => Promise<Result>): Promise<Result>;
}

function isForgotten(error: unknown): boolean {
  return error instanceof MilvusRefusal && (error.isNotLoaded || error.isNotFound);
}

/** Throws AppError `index_unavailable` when `preparing` takes longer; it goes on. */
async function patiently<Result>(preparing: Promise<Result>, patienceMs: number): Promise<Result> {
  const timer = new AbortController();
  const tooLong = sleep(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new AppError("index_unavailable", "The search index is being prepared. Try again in a few seconds.");
  });
  tooLong.catch(() => undefined);
  return Promise.race([preparing, tooLong]).finally(() => timer.abort());
}

/** Keeps a collection ready across restarts of its server; a read waits `patienceMs` for that. Calls throw AppError `index_unavailable`. */
export function makeReadiness(collection: PreparedCollection, patienceMs: number): Readiness {
  let attempt: Promise<boolean> | undefined;
  let isReady = false;
  /** A read was answered by what another process had made, or prepared: the next one need not ask whether it is there. */
  let isServed = false;
  /** From when on it may be written to: see SETTLE_MS. */
  let settledAt = 0;

  async function begin(creates: boolean): Promise<boolean> {
    const begun = performance.now();
    try {
      isReady = await collection.prepare(creates);
      const ended = performance.now();
      settledAt = ended + Math.min(SETTLE_MS.most, Math.max(SETTLE_MS.least, 2 * (ended - begun)));
    } catch (error) {
      return throwIndexError(error);
    } finally {
      if (!isReady) attempt = undefined;
    }
    return isReady;
  }
  const prepare: Prepare = (creates) => (attempt ??= begin(creates));
  /** Unless another call has begun to prepare it already. */
  function forget(used: Promise<boolean> | undefined): void {
    if (attempt !== used || !isReady) return;
    attempt = undefined;
    isReady = false;
  }

  /** Prepares, waits until it may be written to, and runs the call; once more when the server has released or lost it meanwhile. */
  async function onSettled<Result>(call: () => Promise<Result>, ifAbsent?: { result: Result }): Promise<Result> {
    for (let isFirst = true; ; isFirst = false) {
      let used = prepare(!ifAbsent);
      while (!(await used)) {
        if (ifAbsent) return ifAbsent.result;
        // Another call's attempt, which created nothing.
        used = prepare(true);
      }
      await sleep(Math.max(0, settledAt - performance.now()));
      try {
        return await call();
      } catch (error) {
        forget(used);
        if (!isFirst || !isForgotten(error)) return throwIndexError(error);
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
          // The client has no answer of its own for what is not there.
          if (!wasKnown && !(await collection.isThere())) return absent;
          const result = await call();
          isServed = true;
          return result;
        } catch (error) {
          const mayHelp = error instanceof MilvusRefusal && (!wasKnown || isForgotten(error));
          if (!mayHelp || repeats === READ_REPEATS) return throwIndexError(error);
        }
        isServed = false;
        forget(used);
        if (!(await patiently(prepare(false), patienceMs))) return absent;
      }
    },
    change: (call, absent) => onSettled(call, { result: absent }),
    write: (call) => onSettled(call),
  };
}
