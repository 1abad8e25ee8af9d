import path from "node:path";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import pg from "pg";
import { lockDataFolder } from "./data-folder-lock.ts";
import { AppError } from "../../errors/app-error.ts";
import type { Database } from "./database.ts";
import { makePooledDatabase } from "./pooled-database.ts";

export const IN_MEMORY = "memory://";

async function createPGlite(dataDir: string, options: PGliteOptions): Promise<PGlite> {
  try {
    return await PGlite.create({ ...options, dataDir });
  } catch (cause) {
    const problem = `The embedded database in "${dataDir}" cannot be opened: it is damaged or of another version.`;
    throw new AppError("invalid_configuration", `${problem} Bring back a copy of the folder, or choose another DATA_DIR.`, { cause });
  }
}

/**
 * Postgres in this process (PGlite), kept in `dataDir`; `memory://` keeps nothing. Throws AppError `invalid_configuration` when another
 * process has the folder or it cannot be used. `options` go to PGlite.
 */
export async function openEmbeddedPostgres(dataDir: string, options: PGliteOptions = {}): Promise<Database> {
  const inMemory = dataDir.startsWith(IN_MEMORY);
  const unlock = inMemory ? () => undefined : await lockDataFolder(dataDir);
  try {
    const pglite = await createPGlite(inMemory ? dataDir : path.join(dataDir, "postgres"), options);
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
