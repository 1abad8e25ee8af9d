import type pg from "pg";
import { AppError } from "../../errors/app-error.ts";
import type { Database, Listener, Queryable, Statement } from "./database.ts";
import { toStorageError } from "./storage-error.ts";

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw toStorageError(error);
  }
}

const COMMIT = "commit";

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
async function withClient<Result>(pool: pg.Pool, work: (client: Queryable) => Promise<Result>): Promise<Result> {
  const client = await connect(pool);
  let broken: Error | undefined;
  // A checked-out client whose connection drops emits 'error'; without a listener that ends the process.
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on("error", onError);
  const queryable: Queryable = {
    async query<Row>({ name, text, values = [], timeoutMs }: Statement): Promise<Row[]> {
      try {
        const options = { ...(name === undefined ? {} : { name }), ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }) };
        const result = await client.query({ ...options, text, values: [...values] });
        if (text === COMMIT) assertCommitted(result);
        // A text of several statements has several results, which the driver's types do not say.
        return (Array.isArray(result) ? (result as pg.QueryResult[]).flatMap(({ rows }) => rows as Row[]) : result.rows) as Row[];
      } catch (cause) {
        if (cause instanceof RolledBack) throw cause;
        const error = toStorageError(cause);
        if (error instanceof AppError) broken ??= error;
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
    const isClosed = error instanceof AppError;
    if (!statement.values && !isClosed) await client.query({ text: "rollback" }).catch(() => undefined);
    throw error;
  }
}

export interface PooledDatabaseParts {
  pool: pg.Pool;
  description: string;
  isEmbedded: boolean;
  listen: (channel: string, listener: Listener) => Promise<() => Promise<void>>;
  /** Releases what lies under the pool. */
  afterClose: () => Promise<void>;
}

/** A Database over a node-postgres pool. */
export function makePooledDatabase({ pool, description, isEmbedded, listen, afterClose }: PooledDatabaseParts): Database {
  // An idle connection that drops emits 'error' on the pool; unheard, it ends the process. The next statement connects anew.
  pool.on("error", () => undefined);
  return {
    description,
    isEmbedded,
    listen,
    query: (statement) => withClient(pool, (client) => runAlone(client, statement)),
    transaction: (work) =>
      withClient(pool, async (transaction) => {
        await transaction.query({ text: "begin" });
        try {
          const result = await work(transaction);
          await transaction.query({ text: COMMIT });
          return result;
        } catch (error) {
          // When this fails too, the client is marked broken, and the server rolls back as the connection ends.
          await transaction.query({ text: "rollback" }).catch(() => undefined);
          throw error;
        }
      }),
    async close() {
      await pool.end();
      await afterClose();
    },
  };
}
