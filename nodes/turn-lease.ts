import pRetry from "p-retry";
import { AppError } from "../errors/app-error.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import type { HeldTurn } from "../stores/postgres/conversations/begin-turn.ts";

/** Renewals per lease: two may fail before it runs out. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews the turn's lease while `work` runs. The signal given to `work` aborts with AppError `turn_superseded` when another turn takes the
 * lease or the conversation is deleted, and with `turn_cancelled` when a request to another process stops the turn. Any other error of a renewal is ignored, because the next one may succeed.
 */
export async function withLease<Result>(
  { turns, leaseMs }: { turns: TurnStore; leaseMs: number },
  held: HeldTurn,
  cancelled: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const timer = setInterval(() => {
    turns.renew(held, leaseMs).then(
      (renewed) => {
        if (!renewed)
          lost.abort(
            new AppError("turn_superseded", "The conversation was deleted or taken over by another turn while this one was answering."),
          );
      },
      (error: unknown) => {
        if (error instanceof AppError && error.code === "turn_cancelled") lost.abort(error);
      },
    );
  }, leaseMs / RENEWALS_PER_LEASE);
  try {
    return await work(cancelled ? AbortSignal.any([cancelled, lost.signal]) : lost.signal);
  } finally {
    clearInterval(timer);
  }
}

/** Milliseconds between two attempts: the first pause and the longest. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 1_000;

/** True when Postgres cannot be reached. A database that this process has closed stays away, so it does not count. */
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === "storage_unavailable" && error.retryable;

/** Runs `work` again for as long as Postgres is away. Throws other errors at once, and the signal's reason when it aborts. */
export async function retryWhileStorageIsAway<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
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
