import { EventEmitter } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { AppError } from "../../../errors/app-error.ts";
import { packageFile } from "../../../errors/package-file.ts";
import { lockDataFolder } from "./data-folder-lock.ts";
import type { Database } from "./database.ts";
import { type PGliteTask, type PGliteThread, startPGliteThread } from "./pglite-thread.ts";
import { makePooledDatabase } from "./pooled-database.ts";

export const IN_MEMORY = "memory://";

/** A migrated database without rows. The build makes it; without it, a new database makes itself and is then migrated. */
const EMPTY_DATABASE = packageFile("dist/empty-database.tar.gz");

async function openThread(task: PGliteTask): Promise<PGliteThread> {
  return startPGliteThread(task).catch((cause: unknown) => {
    const problem = `The embedded database in "${task.dataDir}" cannot be opened: it is damaged or of another version.`;
    throw new AppError("invalid_configuration", `${problem} Bring back a copy of the folder, or choose another DATA_DIR.`, { cause });
  });
}

/** Opens or makes the database of a folder. One whose making was interrupted is made again. */
async function openFolder(dataDir: string): Promise<PGliteThread> {
  const unfinished = `${dataDir}.unfinished`;
  if (existsSync(unfinished)) rmSync(dataDir, { recursive: true, force: true });
  if (existsSync(path.join(dataDir, "PG_VERSION"))) return openThread({ dataDir });
  writeFileSync(unfinished, "");
  const thread = await openThread({ dataDir, ...(existsSync(EMPTY_DATABASE) ? { loadDataDir: readFileSync(EMPTY_DATABASE) } : {}) });
  rmSync(unfinished);
  return thread;
}

/**
 * Postgres in this process (PGlite) with the extensions of the search index, stored in `dataDir`; `memory://` stores nothing. Throws
 * AppError `invalid_configuration` when the folder cannot be used or another process has it.
 */
export async function openEmbeddedPostgres(dataDir: string): Promise<Database> {
  const inMemory = dataDir.startsWith(IN_MEMORY);
  const unlock = inMemory ? () => undefined : await lockDataFolder(dataDir);
  try {
    const thread = await (inMemory ? openThread({ dataDir }) : openFolder(path.join(dataDir, "postgres")));
    // No password: a user's ~/.pgpass is not read.
    const pool = new pg.Pool({
      stream: () => thread.connect(),
      user: "postgres",
      database: "postgres",
      password: "",
      ssl: false,
      max: 1,
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
    const notifications = new EventEmitter();
    pool.on("connect", (client) => client.on("notification", ({ channel, payload }) => notifications.emit(channel, payload ?? "")));
    return makePooledDatabase({
      pool,
      description: inMemory ? "embedded PGlite in memory" : `embedded PGlite in ${dataDir}`,
      isEmbedded: true,
      async listen(channel, { onNotification, onConnect }) {
        notifications.on(channel, onNotification);
        await pool.query(`listen ${pg.escapeIdentifier(channel)}`);
        onConnect();
        return async () => void notifications.off(channel, onNotification);
      },
      async afterClose() {
        await thread.close();
        unlock();
      },
    });
  } catch (error) {
    unlock();
    throw error;
  }
}
