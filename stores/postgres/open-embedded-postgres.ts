import path from "node:path";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import pg from "pg";
import { lockDataFolder } from "./data-folder-lock.ts";
import type { Database } from "./database.ts";
import { makePooledDatabase } from "./pooled-database.ts";

export const IN_MEMORY = "memory://";

/**
 * Postgres in this process (PGlite), kept in `dataDir`; `memory://` keeps nothing. Throws AppError `invalid_configuration` when another
 * process has the folder. `options` go to PGlite.
 */
export async function openEmbeddedPostgres(dataDir: string, options: PGliteOptions = {}): Promise<Database> {
  const inMemory = dataDir.startsWith(IN_MEMORY);
  const unlock = inMemory ? () => undefined : await lockDataFolder(dataDir);
  try {
    const pglite = await PGlite.create({ ...options, dataDir: inMemory ? dataDir : path.join(dataDir, "postgres") });
    const pool = new pg.Pool({ ...createPgConfig(pglite), max: 1, idleTimeoutMillis: 0 });
    return makePooledDatabase(pool, inMemory ? "embedded PGlite in memory" : `embedded PGlite in ${dataDir}`, async () => {
      await pglite.close();
      unlock();
    });
  } catch (error) {
    unlock();
    throw error;
  }
}
