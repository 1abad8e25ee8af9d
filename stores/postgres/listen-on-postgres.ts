import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Listener } from "./database.ts";

/** How long the farewell to the server may take, in milliseconds: on a dead network it would never be answered. */
const FAREWELL_MS = 1_000;
/** Pause before the next try to connect, in milliseconds. */
const RECONNECT_MS = 1_000;

async function close(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => undefined);
  await Promise.race([ended, sleep(FAREWELL_MS, undefined, { ref: false })]);
  client.connection.stream.destroy();
}

/**
 * Listens on a connection of its own, outside the pool. A connection that is lost is taken up again, again and again, until the returned
 * function is called; `onConnect` then says that notifications may have been missed. Throws when the first connection fails.
 */
export async function listenOnPostgres(
  connection: pg.ClientConfig,
  channel: string,
  { onNotification, onConnect }: Listener,
): Promise<() => Promise<void>> {
  const stopping = new AbortController();
  let current: pg.Client | undefined;

  async function connect(): Promise<void> {
    const client = new pg.Client(connection);
    current = client;
    // Without a listener an 'error' ends the process; 'end' follows in any case.
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
        // The server is still away: the next try comes after the same pause.
      }
    }
  }

  await connect();
  return async () => {
    stopping.abort();
    if (current) await close(current);
  };
}
