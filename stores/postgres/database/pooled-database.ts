import type pg from "pg";
import { AppError } from "../../../errors/app-error.ts";
import { forgetServerTimeouts, startEventLoopTimer, setServerTimeouts } from "./deadlines.ts";
import type { Database, Deadlines, Listener, Queryable, Statement } from "./database.ts";
import { ReplyLost, toStatementError, toStorageError } from "./storage-errors.ts";

/** A connection of the pool, within `connectMs`; one that comes later goes back to it. */
async function connect(pool: pg.Pool, connectMs: number | undefined): Promise<pg.PoolClient> {
  if (pool.ending) throw new AppError("storage_unavailable", "The database was closed.", { retryable: false });
  const connecting = pool.connect();
  if (connectMs === undefined) return connecting.catch((error: unknown) => Promise.reject(toStorageError(error)));
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stopTimer = startEventLoopTimer(connectMs, () => reject(new Error("no connection in time")));
  let isInTime = false;
  try {
    const client = await Promise.race([connecting, late]);
    isInTime = true;
    return client;
  } catch (error) {
    throw toStorageError(error);
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
/** In a transaction that failed, and beside one, nothing else can be said. */
const CONTROL = new Set([BEGIN, COMMIT, ROLLBACK]);

/** A statement of a transaction failed, somebody went on all the same, and nothing of it is stored. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  override readonly message = "The transaction was rolled back at its commit, because a statement of it had failed before.";
}

/** Postgres answers the commit of a transaction in which a statement failed with a rollback, and no error. */
function assertCommitted({ command }: pg.QueryResult): void {
  if (command === "ROLLBACK") throw new RolledBack();
}

/**
 * Checks out a client for `work`. It is destroyed only when its connection is in doubt: `pool.query` would also destroy it after a
 * statement that merely failed, and the embedded database has no second one ("Connection terminated unexpectedly" from then on).
 */
async function withClient<Result>(
  { pool, deadlines }: Pick<PooledDatabaseParts, "pool" | "deadlines">,
  work: (client: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await connect(pool, deadlines?.connectMs);
  let broken: Error | undefined;
  // A checked-out client whose connection drops emits 'error'; without a listener that ends the process.
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on("error", onError);

  /** Ends the connection of a statement that is not answered in time; the driver then says so to whoever waits. */
  async function answerInTime<Answer>(statementMs: number, ask: () => Promise<Answer>): Promise<Answer> {
    const stopTimer = startEventLoopTimer(statementMs, () => client.connection.stream.destroy(new Error("no answer in time")));
    return ask().finally(stopTimer);
  }

  function send({ name, text, values = [], timeoutMs }: Statement): Promise<pg.QueryResult> {
    const ask = () => client.query({ ...(name === undefined ? {} : { name }), text, values: [...values] });
    if (!deadlines) return ask(); // straight away: a step between lets pglite.listen's end come before a statement, which then never ends
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
        if (statement.text === COMMIT) assertCommitted(result);
        // A text of several statements has several results, which the driver's types do not say.
        return (Array.isArray(result) ? (result as pg.QueryResult[]).flatMap(({ rows }) => rows as Row[]) : result.rows) as Row[];
      } catch (cause) {
        forgetServerTimeouts(client);
        if (cause instanceof RolledBack) throw cause;
        const error = toStatementError(cause);
        if (error instanceof ReplyLost) broken ??= error;
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

/** A script without values may begin a transaction of its own: when it fails, that ends before the connection goes back to the pool. */
async function runAlone<Row>(client: Queryable, statement: Statement): Promise<Row[]> {
  try {
    return await client.query<Row>(statement);
  } catch (error) {
    // Not behind a statement that took too long: its connection does not go back to the pool.
    if (!statement.values && !(error instanceof ReplyLost)) await client.query({ text: ROLLBACK }).catch(() => undefined);
    throw error;
  }
}

export interface PooledDatabaseParts {
  pool: pg.Pool;
  /** Undefined: the database is in this process, and always answers. */
  deadlines?: Deadlines;
  description: string;
  isEmbedded: boolean;
  listen: (channel: string, listener: Listener) => Promise<() => Promise<void>>;
  /** Releases what lies under the pool. */
  afterClose: () => Promise<void>;
}

/** A Database over a node-postgres pool. */
export function makePooledDatabase({ pool, deadlines, description, isEmbedded, listen, afterClose }: PooledDatabaseParts): Database {
  // An idle connection that drops emits 'error' on the pool; unheard, it ends the process. The next statement connects anew.
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
          // When this fails too, the client is marked broken, and the server rolls back as the connection ends.
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
