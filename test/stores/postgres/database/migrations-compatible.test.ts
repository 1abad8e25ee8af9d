import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Database, Queryable } from "../../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { createEmptyDatabase } from "../../../support/databases/databases.ts";

const FOLDER = new URL("../../../../stores/postgres/migrations/", import.meta.url);

/**
 * What migrations do that the version before might notice, with why it does not. An entry is made after reading what that version does with
 * the table; see docs/decisions/0021-a-migration-is-compatible-by-one-version.md.
 */
const REVIEWED: Readonly<Record<string, readonly (readonly [RegExp, string])[]>> = {
  "0040_turns_go_on.sql": [[/^index turns\.turns_to_go_on is new/, "the version before writes no turn that it has"]],
};

/** One thing that a table has. `definition` tells all of it that statements depend on. */
interface SchemaFact {
  table: string;
  kind: "column" | "constraint" | "index" | "trigger";
  name: string;
  definition: string;
  /** A column that must be given when a row is written. */
  isRequired: boolean;
  /** A constraint that only refuses values. */
  isCheck: boolean;
}

const FACTS = `
with tables as (select oid, relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p'))
select tables.name as table, 'column' as kind, attname::text as name,
  concat_ws(' ', format_type(atttypid, atttypmod), case when attnotnull then 'not null' end, 'default ' || pg_get_expr(adbin, adrelid)) as definition,
  attnotnull and adbin is null and attidentity = '' as "isRequired", false as "isCheck"
from tables join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped left join pg_attrdef on adrelid = attrelid and adnum = attnum
union all
select tables.name, 'constraint', conname::text, pg_get_constraintdef(pg_constraint.oid), false, contype = 'c'
from tables join pg_constraint on conrelid = tables.oid where contype <> 'n'
union all
select tables.name, 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid), false, false from tables join pg_index on indrelid = tables.oid
union all
select tables.name, 'trigger', tgname::text, pg_get_triggerdef(pg_trigger.oid), false, false from tables join pg_trigger on tgrelid = tables.oid where not tgisinternal`;

const readSchema = (database: Queryable): Promise<SchemaFact[]> => database.query<SchemaFact>({ text: FACTS });

const nameOf = ({ table, kind, name }: SchemaFact): string => `${kind} ${table}.${name}`;
/** What the version before does not notice when it is new. */
const isOptional = ({ kind, isRequired }: SchemaFact): boolean => kind === "column" && !isRequired;

/**
 * What a migration has done to tables that there were before it and that the version before may trip over, in words: anything that is gone
 * or changed, and anything new that refuses, or holds up, what that version writes. New tables and columns that may be left out are none.
 */
function findIncompatible(before: readonly SchemaFact[], after: readonly SchemaFact[]): string[] {
  const [were, are] = [new Map(before.map((fact) => [nameOf(fact), fact])), new Map(after.map((fact) => [nameOf(fact), fact]))];
  const tables = new Set(before.map(({ table }) => table));
  const left = new Set(after.map(({ table }) => table));
  const gone = [...tables].filter((table) => !left.has(table)).map((table) => `table ${table} is gone`);
  const lost = before
    .filter((fact) => left.has(fact.table) && !are.has(nameOf(fact)) && !fact.isCheck)
    .map((fact) => `${nameOf(fact)} is gone`);
  const changed = after.flatMap((fact) => {
    const was = were.get(nameOf(fact));
    return was && was.definition !== fact.definition ? [`${nameOf(fact)} was ${was.definition}, is ${fact.definition}`] : [];
  });
  const gained = after
    .filter((fact) => tables.has(fact.table) && !were.has(nameOf(fact)) && !isOptional(fact))
    .map((fact) => `${nameOf(fact)} is new: ${fact.definition}`);
  return [...gone, ...lost, ...changed, ...gained];
}

let place: Awaited<ReturnType<typeof createEmptyDatabase>>;
let database: Database;
beforeAll(async () => {
  place = await createEmptyDatabase();
  database = await openPostgres(place.url);
});
afterAll(async () => {
  await database.close();
  await place.drop();
});

const TRIGGER = "suppress_redundant_updates_trigger"; // one of Postgres' own

class TakenBack extends Error {}

/** What these statements do to the schema as it is, which is left as it was. */
async function tryOut(text: string): Promise<string[]> {
  let found: string[] = [];
  async function compare(transaction: Queryable): Promise<never> {
    const before = await readSchema(transaction);
    await transaction.query({ text });
    found = findIncompatible(before, await readSchema(transaction));
    throw new TakenBack();
  }
  await expect(database.transaction(compare)).rejects.toThrow(TakenBack);
  return found;
}

test("every migration leaves what the version before it uses, or is an exception that somebody has looked at", async () => {
  for (const name of (await readdir(FOLDER)).sort()) {
    const before = await readSchema(database);
    await database.query({ text: await readFile(new URL(name, FOLDER), "utf8") });
    const exceptions = REVIEWED[name] ?? [];
    const found = findIncompatible(before, await readSchema(database));
    const unreviewed = found.filter((finding) => !exceptions.some(([exception]) => exception.test(finding)));
    expect({ name, unreviewed }).toEqual({ name, unreviewed: [] });
    // An exception that is needed no more is taken out.
    expect(exceptions.filter(([exception]) => !found.some((finding) => exception.test(finding)))).toEqual([]);
  }
});

describe("a migration after the last one", () => {
  test.each([
    ["drops a table", "drop table token_usage", "table token_usage is gone"],
    ["drops a column", "alter table messages drop column token_count", "column messages.token_count is gone"],
    ["changes a type", "alter table messages alter column token_count type bigint", "token_count was integer not null, is bigint not null"],
    ["asks for what may be missing", "alter table turns alter column answer_id set not null", "answer_id was uuid, is uuid not null"],
    ["drops a default", "alter table turns alter column cancel_requested drop default", "is boolean not null"],
    ["adds a column that must be given", "alter table messages add column author text not null", "column messages.author is new"],
    ["narrows a check", "alter table messages add constraint short check (length(content) < 10)", "constraint messages.short is new"],
    ["allows a value once only", "create unique index once on messages (content)", "index messages.once is new: CREATE UNIQUE INDEX"],
    ["makes an index, which holds up writers", "create index by_role on messages (role)", "index messages.by_role is new"],
    ["drops an index", "drop index messages_in_order", "index messages.messages_in_order is gone"],
    ["drops a reference", "alter table turns drop constraint turns_question_id_fkey", "turns_question_id_fkey is gone"],
    ["adds a trigger", `create trigger t before update on turns for each row execute function ${TRIGGER}()`, "trigger turns.t is new"],
  ])("that %s is found", async (_what, text, expected) => {
    expect(await tryOut(text)).toEqual(expect.arrayContaining([expect.stringContaining(expected)]));
  });

  test.each([
    ["a table with an index", "create table notes (id uuid primary key, text text not null); create index by_text on notes (text)"],
    ["a column that may be null", "alter table messages add column author text"],
    ["a column with a constant default", "alter table messages add column likes integer not null default 0"],
    ["a looser check", "alter table messages drop constraint messages_role_check"],
    ["rows", "insert into token_usage values ('t', '2026-01-01', 1)"],
  ])("that adds %s is compatible", async (_what, text) => expect(await tryOut(text)).toEqual([]));
});
