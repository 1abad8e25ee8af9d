import type { Queryable } from "../../../../stores/postgres/database/database.ts";

/** One thing that a table has. `definition` tells all of it that statements depend on. */
export interface SchemaFact {
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
select tables.name, 'trigger', tgname::text, pg_get_triggerdef(pg_trigger.oid), false, false from tables join pg_trigger on tgrelid = tables.oid where not tgisinternal
order by 1, 2, 3`;

/** Everything that the tables of the service have, in a fixed order. */
export function readSchema(database: Queryable): Promise<SchemaFact[]> {
  return database.query<SchemaFact>({ text: FACTS });
}

const nameOf = ({ table, kind, name }: SchemaFact): string => `${kind} ${table}.${name}`;
/** Looser checks, nullable columns and rows without a default are what the version before does not notice. */
const isHarmlessToLose = ({ isCheck }: SchemaFact): boolean => isCheck;
const isHarmlessToGain = ({ kind, isRequired }: SchemaFact): boolean => kind === "column" && !isRequired;

/**
 * What a migration has done to tables that there were before it and that the version before may trip over, in words: anything that is gone or
 * changed, and anything new that refuses, or holds up, what that version writes. New tables and columns that may be left out are none.
 */
export function findIncompatible(before: readonly SchemaFact[], after: readonly SchemaFact[]): string[] {
  const [were, are] = [new Map(before.map((fact) => [nameOf(fact), fact])), new Map(after.map((fact) => [nameOf(fact), fact]))];
  const tables = new Set(before.map(({ table }) => table));
  const left = new Set(after.map(({ table }) => table));
  const gone = [...tables].filter((table) => !left.has(table)).map((table) => `table ${table} is gone`);
  const lost = before
    .filter((fact) => left.has(fact.table) && !are.has(nameOf(fact)) && !isHarmlessToLose(fact))
    .map((fact) => `${nameOf(fact)} is gone`);
  const changed = after.flatMap((fact) => {
    const was = were.get(nameOf(fact));
    return was && was.definition !== fact.definition ? [`${nameOf(fact)} was ${was.definition}, is ${fact.definition}`] : [];
  });
  const gained = after
    .filter((fact) => tables.has(fact.table) && !were.has(nameOf(fact)) && !isHarmlessToGain(fact))
    .map((fact) => `${nameOf(fact)} is new: ${fact.definition}`);
  return [...gone, ...lost, ...changed, ...gained];
}
