import pRetry from "p-retry";
import { AppError } from "../../../errors/app-error.ts";
import type { TurnStore } from "./turn-store.ts";
import type { HeldTurn } from "./recover-turn.ts";

/** Two may fail before the lease runs out. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews the turn's lease while `work` runs. Its signal aborts with AppError:
 * - `turn_superseded` when another turn takes the lease or the conversation is deleted;
 * - `turn_cancelled` when another process stops the turn.
 * Other errors are ignored: the next renewal may succeed.
 */
export async function withLease<Result>(
  { turns, leaseMs }: { turns: TurnStore; leaseMs: number },
  held: HeldTurn,
  cancelled: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const lost = new AbortController();
  const problem = "The conversation was deleted or taken over by another turn while this one was answering.";
  const onRenewed = (isHeld: boolean): void => {
    if (!isHeld) lost.abort(new AppError("turn_superseded", problem));
  };
  const onError = (error: unknown): void => {
    if (error instanceof AppError && error.code === "turn_cancelled") lost.abort(error);
  };
  const timer = setInterval(() => void turns.renew(held, leaseMs).then(onRenewed, onError), leaseMs / RENEWALS_PER_LEASE);
  try {
    return await work(cancelled ? AbortSignal.any([cancelled, lost.signal]) : lost.signal);
  } finally {
    clearInterval(timer);
  }
}

/** False for a database that this process has closed: its error is not retryable. */
const isUnreachable = (error: unknown): boolean => error instanceof AppError && error.code === "storage_unavailable" && error.retryable;

/** Repeats `work` while Postgres is unreachable. Throws other errors at once, and the signal's reason when it aborts. */
export async function retryWhileUnreachable<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    const shouldRetry = ({ error }: { error: unknown }): boolean => isUnreachable(error) && !signal?.aborted;
    return await pRetry(work, { retries: Infinity, factor: 2, minTimeout: 200, maxTimeout: 1_000, shouldRetry });
  } catch (error) {
    if (isUnreachable(error)) signal?.throwIfAborted();
    throw error;
  }
}
