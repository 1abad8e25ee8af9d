import type pg from "pg";

/** Most milliseconds that one round of the event loop counts. */
const LONGEST_ROUND_MS = 100;

/** Calls `onTimeout` after these milliseconds of a running event loop: while it is blocked, an answer may wait unread. Returns the stop. */
export function startEventLoopTimer(milliseconds: number, onTimeout: () => void): () => void {
  let left = milliseconds;
  let timer: NodeJS.Timeout;
  let last: NodeJS.Immediate | undefined;
  function arm(): void {
    const step = Math.min(left, LONGEST_ROUND_MS);
    timer = setTimeout(() => {
      left -= step;
      if (left > 0) arm();
      else last = setImmediate(onTimeout); // after pending input is read
    }, step);
  }
  arm();
  return () => {
    clearTimeout(timer);
    if (last) clearImmediate(last);
  };
}

/** The server gives up first, so that no abandoned statement is carried out. */
const SERVER_SHARE = 0.8;
/** In milliseconds: a dead process must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 30_000;

const serverTimeouts = new WeakMap<pg.PoolClient, number>();

/** Sets the server's timeouts for this connection. Poolers refuse them as startup parameters. */
export async function setServerTimeouts(client: pg.PoolClient, statementMs: number): Promise<void> {
  if (serverTimeouts.get(client) === statementMs) return;
  const serverMs = Math.max(1, Math.floor(statementMs * SERVER_SHARE));
  await client.query(`set statement_timeout = ${serverMs}; set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`);
  serverTimeouts.set(client, statementMs);
}

export function forgetServerTimeouts(client: pg.PoolClient): void {
  serverTimeouts.delete(client);
}
