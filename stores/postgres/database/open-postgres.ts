import pg from "pg";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../errors/app-error.ts";
import type { Database, Deadlines, Listener } from "./database.ts";
import { startEventLoopTimer } from "../../../observe/event-loop-timer.ts";
import { makePooledDatabase } from "./pooled-database.ts";

/** The driver parses input unguarded: bytes of another protocol would end the process. Here they end the connection. */
class PostgresSocket extends Socket {
  override emit(event: string | symbol, ...values: unknown[]): boolean {
    if (event !== "data") return super.emit(event, ...values);
    try {
      return super.emit(event, ...values);
    } catch (cause) {
      this.destroy(new Error("what came was no Postgres protocol", { cause }));
      return true;
    }
  }
}

/** node-postgres itself would wait for ever. */
const DEADLINES: Deadlines = { connectMs: 5_000, statementMs: 10_000 };
const LISTENING = { connectionTimeoutMillis: DEADLINES.connectMs, query_timeout: DEADLINES.statementMs };
const POOL_SIZE = 10;

function describe(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `Postgres at ${hostname || "a local socket"}${port ? `:${port}` : ""}${pathname}`;
}

/** An errno like ECONNREFUSED, or an SQLSTATE like 28P01 (wrong password). */
function reportedCode(error: unknown): string {
  const reported = error instanceof AppError ? error.cause : error;
  return typeof reported === "object" && reported !== null && "code" in reported ? String(reported.code) : "no answer";
}

function clientWith(deadlines: Deadlines): typeof pg.Client {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
    override connect(callback?: (error: never, client: pg.Client) => void): Promise<pg.Client> | void {
      const connected = this.connectInTime();
      if (!callback) return connected;
      connected.then(
        (client) => callback(null as never, client),
        (error: unknown) => callback(error as never, this),
      );
    }

    private async connectInTime(): Promise<pg.Client> {
      const giveUp = (): void => void this.connection.stream.destroy(new Error("no connection in time"));
      const stopTimer = startEventLoopTimer(deadlines.connectMs, giveUp);
      // Without a listener, an 'error' between two steps would end the process.
      const ignoreError = (): void => undefined;
      this.on("error", ignoreError);
      try {
        await super.connect();
        return this;
      } catch (error) {
        this.connection.stream.destroy();
        throw error;
      } finally {
        stopTimer();
        this.off("error", ignoreError);
      }
    }
  };
}

/** A pool on a real Postgres (14 or later). Throws AppError `storage_unavailable` when it cannot be used. */
export async function openPostgres(url: string, deadlines = DEADLINES): Promise<Database> {
  const connection = {
    connectionString: url,
    keepAlive: true,
    stream: () => new PostgresSocket(),
    application_name: "conversation-graph",
  };
  const database = makePooledDatabase({
    pool: new pg.Pool({ ...connection, max: POOL_SIZE, Client: clientWith(deadlines) }),
    deadlines,
    description: describe(url),
    isEmbedded: false,
    listen: (channel, listener) => listenOnPostgres({ ...connection, ...LISTENING }, channel, listener),
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

const END_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 1_000;

async function close(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => undefined);
  await Promise.race([ended, sleep(END_TIMEOUT_MS, undefined, { ref: false })]);
  client.connection.stream.destroy();
}

/** Listens on a connection of its own and reconnects. Throws when the first connection fails. */
async function listenOnPostgres(
  connection: pg.ClientConfig,
  channel: string,
  { onNotification, onConnect }: Listener,
): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  let current: pg.Client | undefined;

  async function connect(): Promise<void> {
    const client = new pg.Client(connection);
    current = client;
    // Without a listener, an 'error' ends the process; 'end' follows.
    client.on("error", () => undefined);
    client.on("notification", ({ payload }) => onNotification(payload ?? ""));
    try {
      await client.connect();
      await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      await close(client);
      throw error;
    }
    client.once("end", () => void reconnect());
    if (stopping.signal.aborted) await close(client);
    else onConnect();
  }

  async function reconnect(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(RECONNECT_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      try {
        return await connect();
      } catch {
        // The next try comes after the pause.
      }
    }
  }

  await connect();
  return async () => {
    stopping.abort();
    if (current) await close(current);
  };
}
