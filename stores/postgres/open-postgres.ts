import pg from "pg";
import type { Database } from "./database.ts";
import { makePooledDatabase } from "./pooled-database.ts";

/** How long a statement waits for a connection, in milliseconds; node-postgres would wait for ever. */
const CONNECT_TIMEOUT_MS = 5_000;
/** How long one statement may take, in milliseconds: a server that hangs must not hold a turn for ever. */
const QUERY_TIMEOUT_MS = 10_000;
const POOL_SIZE = 10;

/** Where the database is, without user and password. */
function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `Postgres at ${hostname || "a local socket"}${port ? `:${port}` : ""}${pathname}`;
}

/** A pool on a real Postgres (14 or later). Throws AppError `storage_unavailable` when it cannot be reached. */
export async function openPostgres(url: string): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: "conversation-graph",
  });
  const database = makePooledDatabase(pool, describe(url), async () => undefined);
  try {
    await database.query({ text: "select 1" });
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}
