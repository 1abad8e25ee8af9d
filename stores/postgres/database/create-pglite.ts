import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { AppError } from "../../../errors/app-error.ts";

// A file of its own: PGlite's types need Emscripten's, so no declaration of the package may reach them.

/** Recycled log files would hold erased text. https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-RECYCLE */
const START_PARAMS = [...PGlite.defaultStartParams, "-c", "shared_buffers=16MB", "-c", "wal_recycle=off"];

/**
 * Drops indexes of the extension pg_textsearch in older folders. It is not loaded any more, and Postgres needs an index's access method
 * even to drop it, so the access method is first replaced.
 */
const DROP_TEXT_SEARCH = `
do $$ begin
  if exists (select from pg_extension where extname = 'pg_textsearch') then
    update pg_am set amhandler = 'bthandler'::regproc where amname = 'bm25';
    drop extension pg_textsearch cascade;
  end if;
end $$`;

/** Throws AppError `invalid_configuration` when the folder cannot be opened. */
export async function createPGlite(dataDir: string): Promise<PGlite> {
  try {
    const pglite = await PGlite.create({ startParams: START_PARAMS, dataDir, extensions: { vector } });
    await pglite.exec(DROP_TEXT_SEARCH);
    return pglite;
  } catch (cause) {
    const problem = `The embedded database in "${dataDir}" cannot be opened: it is damaged or of another version.`;
    throw new AppError("invalid_configuration", `${problem} Bring back a copy of the folder, or choose another DATA_DIR.`, { cause });
  }
}
