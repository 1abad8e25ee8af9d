import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { migrate, migrateFrom } from "../../../../stores/postgres/database/migrate.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { lastOf, replacedMigrations } from "../../../hard/chaos/version-tree.ts";
import { createEmptyDatabase } from "../../../support/databases/databases.ts";

const FOLDER = new URL("../../../../stores/postgres/migrations/", import.meta.url);
const SCHEMA = "0001_schema.sql";
const LAST = lastOf(SCHEMA, await readFile(new URL(SCHEMA, FOLDER), "utf8"));
const replaced = await replacedMigrations(LAST);

/** All that the catalogs say of what is there; a column's place counts, for `insert` without columns and for `select *`. */
const FACTS = `
with relations as (select * from pg_class where relnamespace = 'public'::regnamespace)
select 'schema ' || nspname as name, null as definition from pg_namespace where nspname !~ '^pg_(toast|temp)'
union all
select 'extension ' || extname, extversion from pg_extension
union all
select concat_ws(' ', 'type', typtype, typname), null from pg_type where typnamespace = 'public'::regnamespace
union all
select 'relation ' || relname, concat_ws(' ', relkind, relpersistence, relreplident, relrowsecurity, reloptions::text) from relations
union all
select concat_ws(' ', 'column', relname, attnum, attname), concat_ws(' ', format_type(atttypid, atttypmod), 'collate ' || attcollation::regcollation,
  attnotnull, attstorage, attcompression, attidentity, attgenerated, attoptions::text, pg_get_expr(adbin, adrelid))
from relations join pg_attribute on attrelid = relations.oid and attnum > 0 left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select concat_ws(' ', 'constraint', conrelid::regclass, conname), concat_ws(' ', contype, convalidated, pg_get_constraintdef(oid))
from pg_constraint where connamespace = 'public'::regnamespace
union all
select 'index ' || relname, concat_ws(' ', indisvalid, indisprimary, indisreplident, pg_get_indexdef(indexrelid)) from relations join pg_index on indexrelid = oid
union all
select 'trigger ' || tgname, concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid)) from pg_trigger join relations on tgrelid = relations.oid where not tgisinternal
union all
select 'function ' || oid::regprocedure, pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
order by 1, 2`;

interface Fact {
  name: string;
  definition: string | null;
}

async function readFacts(database: Database): Promise<Fact[]> {
  const facts = await database.query<Fact>({ text: FACTS });
  const tables = facts.flatMap(({ name, definition }) => (definition?.startsWith("r ") ? [name.slice("relation ".length)] : []));
  for (const table of tables.filter((table) => table !== "schema_migrations")) {
    const rows = await database.query({ text: `select * from ${table}` });
    facts.push({ name: `rows of ${table}`, definition: JSON.stringify(rows) });
  }
  return facts;
}

const readApplied = (database: Database) =>
  database.query<{ version: number }>({
    text: "select version, name, compatible_from, applied_at from schema_migrations order by version",
  });

/** Applies the first migrations that were replaced, with files of their own. */
async function migrateAsBefore(database: Database, count: number): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "migrations-"));
  for (const [name, sql] of [...(replaced ?? [])].slice(0, count)) await writeFile(path.join(folder, name), sql);
  await migrateFrom(database, pathToFileURL(`${folder}/`)).finally(() => rm(folder, { recursive: true }));
}

async function openEmpty(): Promise<Database> {
  const { url, drop } = await createEmptyDatabase();
  const database = await openPostgres(url);
  return { ...database, close: () => database.close().then(drop) };
}

const title = `the migrations that ${SCHEMA} replaces`;
(replaced ? describe : describe.skip).each([
  ["real Postgres", openEmpty],
  ["embedded PGlite", () => openEmbeddedPostgres(IN_MEMORY)],
])(`${title}${replaced ? "" : ` (skipped: git's history does not reach back to ${LAST})`}, on %s,`, (_where, open) => {
  const opened: Database[] = [];
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });
  async function openAt(count: number): Promise<Database> {
    const database = await open();
    opened.push(database);
    await migrateAsBefore(database, count);
    return database;
  }

  test(`make the schema that it makes, and their database goes on from ${LAST}`, async () => {
    const [old, fresh] = [await openAt(Number(LAST)), await open()];
    opened.push(fresh);
    const before = await readApplied(old);
    expect(before.map(({ version }) => version)).toEqual(Array.from(before, (_, index) => index + 1));
    expect(before.at(-1)?.version).toBe(Number(LAST));

    const [first, ...later] = await migrate(fresh);
    expect([first, await migrate(old)]).toEqual([SCHEMA, later]);
    expect((await readApplied(old)).slice(0, before.length)).toEqual(before);
    expect((await readApplied(fresh)).map(({ version }) => version)).toEqual((await readApplied(old)).map(({ version }) => version));
    const facts = await readFacts(old);
    expect(facts.length).toBeGreaterThan(600);
    expect(await readFacts(fresh)).toEqual(facts);
  });

  test.each([2, Number(LAST) - 1])(
    "are refused as far as number %i, with the version to start first, and stay as they were",
    async (count) => {
      const database = await openAt(count);
      const [applied, facts] = [await readApplied(database), await readFacts(database)];
      await expect(migrate(database)).rejects.toMatchObject({
        name: "AppError",
        code: "invalid_configuration",
        message: expect.stringMatching(
          new RegExp(
            `at migration 0*${count}, and ${SCHEMA} goes on from ${LAST} .*Start version 0\\.1 .*brings it to ${LAST}, and then this`,
          ),
        ),
      });
      expect([await readApplied(database), await readFacts(database)]).toEqual([applied, facts]);
    },
  );
});
