import { statfs } from "node:fs/promises";
import { IN_MEMORY } from "../stores/postgres/open-embedded-postgres.ts";
import type { Database } from "../stores/postgres/database.ts";
import { withTimeout, type DependencyCheck } from "./dependency-checks.ts";

/** A file of Postgres' log of changes: less room, and the embedded database breaks in the middle of a write. */
const ROOM_BYTES = 16 * 1024 * 1024;

/**
 * Fails where nothing can be written, and writes nothing that stays. The update of no row is refused by a Postgres that was switched to
 * read-only or stands by. The numbers are more than that memory holds, so they go to a file, which a full disk refuses.
 */
const TRY_TO_WRITE = `
set local work_mem = '64kB';
update token_usage set tokens = tokens where false;
select count(*) from generate_series(1, 10000)`;

/** A Postgres that answers, but cannot write. */
export class ReadOnly extends Error {
  override readonly name = "ReadOnly";
}

async function tryToWrite(database: Database, dataDir: string): Promise<void> {
  if (!database.isEmbedded) return void (await database.query({ text: TRY_TO_WRITE }));
  if (dataDir.startsWith(IN_MEMORY)) return;
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize < ROOM_BYTES) throw new Error(`less than ${ROOM_BYTES} bytes are free`);
}

/** Whether Postgres answers and can write. Rejects with ReadOnly when it only answers. `dataDir` is where the embedded one keeps its files. */
export function checkPostgres(database: Database, dataDir: string): DependencyCheck {
  return withTimeout(async () => {
    await database.query({ text: "select 1" });
    await tryToWrite(database, dataDir).catch((cause: unknown) => {
      throw new ReadOnly("Postgres cannot write.", { cause });
    });
  });
}
