import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { createPgConfig } from "@electric-sql/pglite/node-postgres";
import pg from "pg";
import { packageFile } from "../../../errors/package-file.ts";
import { createPGlite } from "./create-pglite.ts";
import { lockDataFolder } from "./data-folder-lock.ts";
import type { Database } from "./database.ts";
import { makePooledDatabase } from "./pooled-database.ts";

export const IN_MEMORY = "memory://";

/** A migrated database without rows. The build makes it; without it, a new database makes itself and is then migrated. */
const EMPTY_DATABASE = packageFile("dist/empty-database.tar.gz");

/** Opens or makes the database of a folder. One whose making was interrupted is made again. */
async function openFolder(folder: string): Promise<PGlite> {
  const unfinished = `${folder}.unfinished`;
  if (existsSync(unfinished)) rmSync(folder, { recursive: true, force: true });
  if (existsSync(path.join(folder, "PG_VERSION"))) return createPGlite(folder);
  writeFileSync(unfinished, "");
  const pglite = await createPGlite(folder, existsSync(EMPTY_DATABASE) ? { loadDataDir: new Blob([readFileSync(EMPTY_DATABASE)]) } : {});
  rmSync(unfinished);
  return pglite;
}

/**
 * Postgres in this process (PGlite) with the extensions of the search index, stored in `dataDir`; `memory://` stores nothing. Throws
 * AppError `invalid_configuration` when the folder cannot be used or another process has it.
 */
export async function openEmbeddedPostgres(dataDir: string): Promise<Database> {
  const inMemory = dataDir.startsWith(IN_MEMORY);
  const unlock = inMemory ? () => undefined : await lockDataFolder(dataDir);
  try {
    const pglite = await (inMemory ? createPGlite(dataDir) : openFolder(path.join(dataDir, "postgres")));
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
