import type pg from "pg";
import { AppError } from "../../../errors/app-error.ts";
import { startEventLoopTimer } from "../../../observe/event-loop-timer.ts";
import type { Database, Deadlines, Listener, Queryable, Statement } from "./database.ts";
import { ReplyLost, StalePlan, toConnectionError, toStatementError } from "./storage-errors.ts";

/** The server gives up first, so that no abandoned statement is carried out. */
const SERVER_SHARE = 0.8;
/** In milliseconds: a dead process must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 30_000;

const serverTimeouts = new WeakMap<pg.PoolClient, number>();

/**
 * Sets the server's timeouts for this connection; poolers refuse them as startup parameters. `jit`: compiling these short statements takes
 * a tenth of a second.
 */
async function setServerTimeouts(client: pg.PoolClient, statementMs: number): Promise<void> {
  if (serverTimeouts.get(client) === statementMs) return;
  const serverMs = Math.max(1, Math.floor(statementMs * SERVER_SHARE));
  await client.query(
    `set statement_timeout = ${serverMs}; set idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}; set jit = off`,
  );
  serverTimeouts.set(client, statementMs);
}

function forgetServerTimeouts(client: pg.PoolClient): void {
  serverTimeouts.delete(client);
}

async function connect(pool: pg.Pool, connectMs: number | undefined): Promise<pg.PoolClient> {
  if (pool.ending) throw new AppError("storage_unavailable", "The database was closed.", { retryable: false });
  const connecting = pool.connect();
  if (connectMs === undefined) return connecting.catch((error: unknown) => Promise.reject(toConnectionError(error)));
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = startEventLoopTimer(connectMs, () => reject(new Error("no connection in time")));
  let isInTime = false;
  try {
    const client = await Promise.race([connecting, late]);
    isInTime = true;
    return client;
  } catch (error) {
    throw toConnectionError(error);
  } finally {
    stopTimer();
    if (!isInTime)
      connecting.then(
        (client) => client.release(),
        () => undefined,
      );
  }
}

const BEGIN = "begin";
const COMMIT = "commit";
const ROLLBACK = "rollback";
/** They must pass in a failed transaction too. */
const CONTROL = new Set([BEGIN, COMMIT, ROLLBACK]);

class RolledBack extends Error {
  override readonly name = "RolledBack";
  override readonly message = "The transaction was rolled back at its commit, because a statement of it had failed before.";
}

/** Destroys a client only when its connection is in doubt. `pool.query` would after any failed statement. */
async function withClient<Result>(
  { pool, deadlines }: Pick<PooledDatabaseParts, "pool" | "deadlines">,
  work: (client: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool, deadlines?.connectMs);
  let broken: Error | undefined;
  // Without a listener it ends the process.
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on("error", onError);

  async function answerInTime<Answer>(statementMs: number, ask: () => Promise<Answer>): Promise<Answer> {
    const stopTimer = startEventLoopTimer(statementMs, () => client.connection.stream.destroy(new Error("no answer in time")));
    return ask().finally(stopTimer);
  }

  function send({ name, text, values = [], timeoutMs }: Statement): Promise<pg.QueryResult> {
    const ask = () => client.query({ ...(name === undefined ? {} : { name }), text, values: [...values] });
    if (!deadlines) return ask();
    const statementMs = timeoutMs ?? deadlines.statementMs;
    return answerInTime(statementMs, async () => {
      if (!CONTROL.has(text)) await setServerTimeouts(client, statementMs);
      if (text === ROLLBACK) forgetServerTimeouts(client);
      return ask();
    });
  }

  const queryable: Queryable = {
    async query<Row>(statement: Statement): Promise<Row[]> {
      try {
        const result = await send(statement);
        // Postgres answers the commit of a failed transaction without an error.
        if (statement.text === COMMIT && result.command === "ROLLBACK") throw new RolledBack();
        // Several statements give several results, unlike the type says.
        return (Array.isArray(result) ? (result as pg.QueryResult[]).flatMap(({ rows }) => rows as Row[]) : result.rows) as Row[];
      } catch (cause) {
        forgetServerTimeouts(client);
        if (cause instanceof RolledBack) throw cause;
        const error = toStatementError(cause);
        if (error instanceof ReplyLost || error instanceof StalePlan) broken ??= error;
        throw error;
      }
    },
  };
  try {
    return await work(queryable);
  } finally {
    client.off("error", onError);
    client.release(broken);
  }
}

/** A script without values may have begun a transaction, which must end before the connection is reused. */
async function runAlone<Row>(client: Queryable, statement: Statement): Promise<Row[]> {
  try {
    return await client.query<Row>(statement);
  } catch (error) {
    if (error instanceof StalePlan) return client.query<Row>({ ...statement, name: "" });
    if (!statement.values && !(error instanceof ReplyLost)) await client.query({ text: ROLLBACK }).catch(() => undefined);
    throw error;
  }
}

export interface PooledDatabaseParts {
  pool: pg.Pool;
  /** Undefined for a database in this process. */
  deadlines?: Deadlines;
  description: string;
  isEmbedded: boolean;
  listen: (channel: string, listener: Listener) => Promise<() => Promise<void>>;
  afterClose: () => Promise<void>;
}

export function makePooledDatabase({ pool, deadlines, description, isEmbedded, listen, afterClose }: PooledDatabaseParts): Database {
  // Without a listener it ends the process.
  pool.on("error", () => undefined);
  const connections = deadlines ? { pool, deadlines } : { pool };
  return {
    description,
    isEmbedded,
    listen,
    query: (statement) => withClient(connections, (client) => runAlone(client, statement)),
    transaction: (work) =>
      withClient(connections, async (transaction) => {
        await transaction.query({ text: BEGIN });
        try {
          const result = await work(transaction);
          await transaction.query({ text: COMMIT });
          return result;
        } catch (error) {
          // If this fails too, the broken connection ends and the server rolls back.
          await transaction.query({ text: ROLLBACK }).catch(() => undefined);
          throw error;
        }
      }),
    async close() {
      await pool.end();
      await afterClose();
    },
  };
}
