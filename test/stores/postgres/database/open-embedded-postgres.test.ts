import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { migrate } from "../../../../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { createDataFolder } from "../../../servers/data-folder.ts";

const SCHEMA = `
select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || coalesce(' ' || column_default, '') as line
from information_schema.columns where table_schema in ('public', 'pgboss')
union all select indexdef from pg_indexes where schemaname in ('public', 'pgboss')
union all select pg_get_functiondef(pg_proc.oid) from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
  where nspname in ('public', 'pgboss') and prokind = 'f' and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
union all select version || ' ' || name from schema_migrations
order by 1`;

async function schemaOf(place: string): Promise<{ lines: unknown[]; messages: unknown[] }> {
  const database: Database = await openEmbeddedPostgres(place);
  try {
    await migrate(database);
    const lines = await database.query({ text: SCHEMA });
    return { lines, messages: await database.query({ text: "select from messages" }) };
  } finally {
    await database.close();
  }
}

test("a new folder has the schema that the migrations make, and no rows", async () => {
  const { folder, remove } = await createDataFolder({ migrated: false });
  const [unpacked, made] = [await schemaOf(folder), await schemaOf(IN_MEMORY)];
  expect(unpacked).toEqual({ lines: made.lines, messages: [] });
  expect(made.lines.length).toBeGreaterThan(200);
  await remove();
});

test("a database whose making was interrupted is made again", async () => {
  const { folder, remove } = await createDataFolder({ migrated: false });
  mkdirSync(path.join(folder, "postgres"));
  writeFileSync(path.join(folder, "postgres", "PG_VERSION"), "18\n");
  await expect(openEmbeddedPostgres(folder)).rejects.toMatchObject({ code: "invalid_configuration" });
  writeFileSync(path.join(folder, "postgres.unfinished"), "");
  expect((await schemaOf(folder)).messages).toEqual([]);
  expect((await schemaOf(folder)).messages).toEqual([]);
  await remove();
});
