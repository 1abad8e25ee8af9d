import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../errors/app-error.ts";
import { MilvusRefusal } from "./milvus-refusal.ts";
import { toIndexError } from "./to-index-error.ts";

export interface Readiness {
  /** Prepares, if that has not been done. One attempt at a time; what failed is tried again at the next use. */
  prepare(): Promise<void>;
  /** Runs a call on what is prepared. Prepares once more and repeats when the server has released or lost it meanwhile. */
  use<Result>(call: () => Promise<Result>): Promise<Result>;
}

function isForgotten(error: unknown): boolean {
  return error instanceof MilvusRefusal && (error.isNotLoaded || error.isNotFound);
}

/** Throws AppError `index_unavailable` when `preparing` takes longer; it goes on. */
async function patiently(preparing: Promise<void>, patienceMs: number): Promise<void> {
  const timer = new AbortController();
  const tooLong = sleep(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new AppError("index_unavailable", "The search index is being prepared. Try again in a few seconds.");
  });
  tooLong.catch(() => undefined);
  await Promise.race([preparing, tooLong]).finally(() => timer.abort());
}

/** Keeps a collection ready across restarts of its server; a call waits `patienceMs` for that. Calls throw AppError `index_unavailable`. */
export function makeReady(prepareAnew: () => Promise<void>, patienceMs: number): Readiness {
  let ready: Promise<void> | undefined;
  const prepare = (): Promise<void> =>
    (ready ??= prepareAnew().catch((error: unknown) => {
      ready = undefined;
      return toIndexError(error);
    }));
  return {
    prepare,
    async use(call) {
      const prepared = prepare();
      await patiently(prepared, patienceMs);
      try {
        return await call();
      } catch (error) {
        if (!isForgotten(error)) return toIndexError(error);
      }
      // Unless another call has begun to prepare it already.
      if (ready === prepared) ready = undefined;
      await patiently(prepare(), patienceMs);
      return call().catch(toIndexError);
    },
  };
}
