import pg from "pg";
import { AppError } from "../../errors/app-error.ts";
import type { Database } from "./database.ts";
import { listenOnPostgres } from "./listen-on-postgres.ts";
import { makePooledDatabase } from "./pooled-database.ts";
import { PostgresSocket } from "./postgres-socket.ts";

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

/** What the driver reported: an errno like ECONNREFUSED, or an SQLSTATE like 28P01 (wrong password) or 3D000 (no such database). */
function reportedCode(error: unknown): string {
  const reported = error instanceof AppError ? error.cause : error;
  return typeof reported === "object" && reported !== null && "code" in reported ? String(reported.code) : "no answer";
}

/** A pool on a real Postgres (14 or later). Throws AppError `storage_unavailable` when it cannot be used. */
export async function openPostgres(url: string): Promise<Database> {
  const connection = {
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    stream: () => new PostgresSocket(),
    application_name: "conversation-graph",
  };
  const database = makePooledDatabase({
    pool: new pg.Pool({ ...connection, max: POOL_SIZE }),
    description: describe(url),
    isEmbedded: false,
    listen: (channel, listener) => listenOnPostgres(connection, channel, listener),
    afterClose: async () => undefined,
  });
  try {
    await database.query({ text: "select 1" });
  } catch (cause) {
    await database.close();
    throw new AppError(
      "storage_unavailable",
      `${database.description} cannot be used (${reportedCode(cause)}). Start it, or correct host, port, user, password and database of DATABASE_URL.`,
      { cause },
    );
  }
  return database;
}
