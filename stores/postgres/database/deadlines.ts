import type pg from "pg";

/** One turn of the event loop counts for no more than this, in milliseconds. */
const LONGEST_ROUND_MS = 100;

/**
 * Calls `onTimeout` after so many milliseconds in which the event loop went round. Time in which it stood still does not count: what was waited
 * for may have arrived, and nobody has read it. Returns what stops the timer.
 */
export function startEventLoopTimer(milliseconds: number, onTimeout: () => void): () => void {
  let left = milliseconds;
  let timer: NodeJS.Timeout;
  let last: NodeJS.Immediate | undefined;
  function arm(): void {
    const step = Math.min(left, LONGEST_ROUND_MS);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) arm();
      else last = setImmediate(onTimeout); // behind what can be read now
    }, step);
  }
  arm();
  return () => {
    clearTimeout(timer);
    if (last) clearImmediate(last);
  };
}

/** The share of a deadline that the server has: it gives up first, so that a statement nobody waits for any more is not carried out. */
const SERVER_SHARE = 0.8;
/** How long a transaction may stand still between two statements, in milliseconds: that of a process that is gone must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 30_000;

/** What the server of each connection was told. */
const serverTimeouts = new WeakMap<pg.PoolClient, number>();

/**
 * Tells the server how long the next statement of this connection may take, unless it knows. Not at the start of the connection: a pooler in
 * front refuses such parameters.
 */
export async function setServerTimeouts(client: pg.PoolClient, statementMs: number): Promise<void> {
  if (serverTimeouts.get(client) === statementMs) return;
  const serverMs = Math.max(1, Math.floor(statementMs * SERVER_SHARE));
  await client.query(`set statement_timeout = ${serverMs}; set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`);
  serverTimeouts.set(client, statementMs);
}

/** After a failure or a rollback nobody knows what the server goes by. */
export function forgetServerTimeouts(client: pg.PoolClient): void {
  serverTimeouts.delete(client);
}
