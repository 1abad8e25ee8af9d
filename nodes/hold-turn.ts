import pRetry from "p-retry";
import { AppError } from "../errors/app-error.ts";
import type { TurnStore } from "../stores/postgres/conversations/turn-store.ts";
import type { HeldTurn } from "../stores/postgres/conversations/begin-turn.ts";

/** Renewals per lease: two may fail before it runs out. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews the turn's lease while `work` runs. When the lease is lost to another turn, or the conversation is deleted, the signal given to
 * `work` aborts with AppError `turn_superseded`, and with `turn_cancelled` when somebody asked another process to stop it; a database that cannot be reached for a moment does not end the work.
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

/** Milliseconds between two tries: first, and at most. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 1_000;

/** Postgres is away, or this process was too late for its answer; a database that was closed does not come back. */
const isAway = (error: unknown): boolean => error instanceof AppError && error.code === "storage_unavailable" && error.retryable;

/**
 * What `work` comes to, tried again for as long as Postgres is away and `signal` has not aborted; then its reason is thrown. Other errors pass at once.
 */
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
