import pRetry from "p-retry";
import { AppError } from "../errors/app-error.ts";

/** Milliseconds between two tries: first, and at most. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 1_000;

/** Postgres is away, or this process was too late for its answer; a database that was closed does not come back. */
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === "storage_unavailable" && error.retryable;

/**
 * What `work` comes to, tried again for as long as Postgres is away and `signal` has not aborted; then its reason is thrown. Other errors pass at once.
 */
export async function whileStorageIsAway<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await pRetry(work, {
      ...{ retries: Infinity, factor: 2, minTimeout: FIRST_PAUSE_MS, maxTimeout: LONGEST_PAUSE_MS },
      shouldRetry: ({ error }) => isAway(error) && !signal?.aborted,
    });
  } catch (error) {
    if (isAway(error)) signal?.throwIfAborted();
    throw error;
  }
}
