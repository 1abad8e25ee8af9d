import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createPGlite } from "../stores/postgres/database/create-pglite.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { openEmbeddedPostgres } from "../stores/postgres/database/open-embedded-postgres.ts";

/** Writes a migrated embedded database without rows as a packed folder. A first start then unpacks it instead of making its own. */
export async function writeEmptyDatabase(file: string): Promise<void> {
  await rm(file, { force: true });
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-empty-"));
  try {
    const database = await openEmbeddedPostgres(folder);
    await migrate(database);
    await database.query({ text: "vacuum (full)" });
    await database.close();
    const pglite = await createPGlite(path.join(folder, "postgres"));
    const packed = await pglite.dumpDataDir("gzip");
    await pglite.close();
    await writeFile(file, Buffer.from(await packed.arrayBuffer()));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
