import path from "node:path";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import pg from "pg";
import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { pg_textsearch } from "@electric-sql/pglite-pg_textsearch";
import { vector } from "@electric-sql/pglite-pgvector";
import { lockDataFolder } from "./data-folder-lock.ts";
import type { Database } from "./database.ts";
import { makePooledDatabase } from "./pooled-database.ts";
import { AppError } from "../../../errors/app-error.ts";

/**
 * pg_textsearch must be preloaded. As a start parameter: written into the folder, it would make the folder open nowhere else. Old log files
 * are deleted, not recycled: they hold what was erased. https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-RECYCLE
 */
const START_PARAMS = [...PGlite.defaultStartParams, "-c", "shared_preload_libraries=pg_textsearch", "-c", "wal_recycle=off"];
const TEXT_SEARCH: typeof pg_textsearch = {
  ...pg_textsearch,
  setup: async (...given) => ({ ...(await pg_textsearch.setup(...given)), sharedPreloadLibraries: [] }),
};

/** PGlite with the extensions of the search index. Throws AppError `invalid_configuration` when the folder cannot be opened. */
export async function createPGlite(dataDir: string, options: PGliteOptions): Promise<PGlite> {
  try {
    return await PGlite.create({
      startParams: START_PARAMS,
      ...options,
      dataDir,
      extensions: { vector, pg_textsearch: TEXT_SEARCH, ...options.extensions },
    });
  } catch (cause) {
    const problem = `The embedded database in "${dataDir}" cannot be opened: it is damaged or of another version.`;
    throw new AppError("invalid_configuration", `${problem} Bring back a copy of the folder, or choose another DATA_DIR.`, { cause });
  }
}

export const IN_MEMORY = "memory://";

/**
 * Postgres in this process (PGlite) with the extensions of the search index, stored in `dataDir`; `memory://` stores nothing. `loadDataDir`
 * is an archive of PGlite's `dumpDataDir` for a new folder. Throws AppError `invalid_configuration` when another process has the folder or
 * it cannot be used.
 */
export async function openEmbeddedPostgres(dataDir: string, options: { loadDataDir?: Blob } = {}): Promise<Database> {
  const inMemory = dataDir.startsWith(IN_MEMORY);
  const unlock = inMemory ? () => undefined : await lockDataFolder(dataDir);
  try {
    const pglite = await createPGlite(inMemory ? dataDir : path.join(dataDir, "postgres"), options);
    const pool = new pg.Pool({ ...createPgConfig(pglite), max: 1, idleTimeoutMillis: 0 });
    return makePooledDatabase({
      pool,
      description: inMemory ? "embedded PGlite in memory" : `embedded PGlite in ${dataDir}`,
      isEmbedded: true,
      async listen(channel, { onNotification, onConnect }) {
        const stop = await pglite.listen(channel, onNotification);
        onConnect();
        return () => stop();
      },
      async afterClose() {
        await pglite.close();
        unlock();
      },
    });
  } catch (error) {
    unlock();
    throw error;
  }
}
