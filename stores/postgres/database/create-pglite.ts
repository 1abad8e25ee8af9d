import { PGlite, type PGliteOptions } from "@electric-sql/pglite";
import { pg_textsearch } from "@electric-sql/pglite-pg_textsearch";
import { vector } from "@electric-sql/pglite-pgvector";
import { AppError } from "../../../errors/app-error.ts";

// A file of its own: PGlite's types need those of Emscripten, so no declaration of the package may reach them.

/**
 * pg_textsearch must be preloaded; a setting in the folder would make it open nowhere else. Recycled log files would hold erased text.
 * https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-RECYCLE
 */
const START_PARAMS = [
  ...PGlite.defaultStartParams,
  "-c",
  "shared_preload_libraries=pg_textsearch",
  "-c",
  "shared_buffers=16MB",
  "-c",
  "wal_recycle=off",
];
const TEXT_SEARCH: typeof pg_textsearch = {
  ...pg_textsearch,
  setup: async (...given) => ({ ...(await pg_textsearch.setup(...given)), sharedPreloadLibraries: [] }),
};

/** Throws AppError `invalid_configuration` when the folder cannot be opened. */
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
