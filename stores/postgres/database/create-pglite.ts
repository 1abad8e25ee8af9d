import { setFlagsFromString } from "node:v8";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

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

/** A query without a statement, in Postgres' protocol. https://www.postgresql.org/docs/current/protocol-message-formats.html */
const EMPTY_QUERY = Uint8Array.of("Q".charCodeAt(0), 0, 0, 0, 5, 0);

/**
 * V8 optimizes WebAssembly by function, and decides at a function's first call whether it may. Postgres' parser is one function of 105 kB,
 * whose optimization takes 600 MB and a second of CPU. So an empty query calls the parser first, while no function may.
 * https://v8.dev/docs/wasm-compilation-pipeline
 */
class EmbeddedPostgres extends PGlite {
  #hasParsed = false;

  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    if (!this.#hasParsed) {
      this.#hasParsed = true;
      setFlagsFromString("--wasm-tier-up-filter=0");
      super.execProtocolRawSync(EMPTY_QUERY);
      setFlagsFromString("--wasm-tier-up-filter=-1");
    }
    return super.execProtocolRawSync(message);
  }
}

/** `loadDataDir`: what a new folder begins with. Throws what PGlite throws when the folder cannot be opened. */
export async function createPGlite(dataDir: string, from: { loadDataDir?: Blob } = {}): Promise<PGlite> {
  const pglite = new EmbeddedPostgres({ startParams: START_PARAMS, dataDir, extensions: { vector }, ...from });
  await pglite.waitReady;
  await pglite.exec(DROP_TEXT_SEARCH);
  return pglite;
}
