import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { pg_textsearch } from "@electric-sql/pglite-pg_textsearch";
import { expect, test } from "@jest/globals";
import { createPGlite } from "../../../../stores/postgres/database/create-pglite.ts";

/** As versions that searched words with pg_textsearch opened their folders. */
async function openAsBefore(dataDir: string): Promise<PGlite> {
  return PGlite.create({
    dataDir,
    startParams: [...PGlite.defaultStartParams, "-c", "shared_preload_libraries=pg_textsearch"],
    extensions: {
      pg_textsearch: {
        ...pg_textsearch,
        setup: async (pglite, options) => ({ ...(await pg_textsearch.setup(pglite, options)), sharedPreloadLibraries: [] }),
      },
    },
  });
}

test("a folder with an index of pg_textsearch is opened without the extension, and its table is read, written and vacuumed", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-text-search-"));
  const dataDir = path.join(folder, "postgres");
  const before = await openAsBefore(dataDir);
  await before.exec(`
create extension pg_textsearch; create table spoken (words text); insert into spoken values ('red tea');
create index spoken_by_words on spoken using bm25 (words) with (text_config = 'simple')`);
  await before.close();
  for (const count of [2, 3]) {
    const now = await createPGlite(dataDir);
    await now.exec("insert into spoken values ('blue tea')");
    await now.exec("vacuum (full, analyze) spoken");
    expect((await now.query("select count(*)::int as count from spoken")).rows).toEqual([{ count }]);
    expect((await now.query("select from pg_extension where extname = 'pg_textsearch'")).rows).toEqual([]);
    expect((await now.query("select from pg_indexes where tablename = 'spoken'")).rows).toEqual([]);
    await now.close();
  }
  await rm(folder, { recursive: true, force: true });
});
