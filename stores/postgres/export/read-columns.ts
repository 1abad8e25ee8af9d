import { AppError } from "../../../errors/app-error.ts";
import type { Queryable } from "../database.ts";
import { newestMigration } from "../migrate.ts";
import { EXPORTED_TABLES, type ExportedTable } from "./exported-tables.ts";

/** A column as the catalogue describes it. */
export interface Column {
  name: string;
  /** As Postgres writes it: `uuid`, `text[]`, `timestamp(3) with time zone`. */
  type: string;
  isNullable: boolean;
  hasDefault: boolean;
  /** Its place in the primary key; null: it is no part of it. */
  keyPosition: number | null;
}

/** An exported table with the columns that its rows have in an export, in the order of the table. */
export interface TableColumns {
  table: ExportedTable;
  columns: Column[];
}

/** Columns that Postgres generates are made again by it. */
const COLUMNS = `
select relname as "table", attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as "isNullable", atthasdef as "hasDefault",
  array_position(conkey, attnum) as "keyPosition"
from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_constraint on conrelid = attrelid and contype = 'p'
where relnamespace = 'public'::regnamespace and relname = any($1) and attnum > 0 and not attisdropped and attgenerated = ''
order by relname, attnum`;

/** The tables of an export as this database has them. */
export async function readColumns(queryable: Queryable): Promise<TableColumns[]> {
  const names = EXPORTED_TABLES.map(({ name }) => name);
  const rows = await queryable.query<Column & { table: string }>({ text: COLUMNS, values: [names] });
  const byTable = Map.groupBy(rows, (row) => row.table);
  return EXPORTED_TABLES.map((table) => {
    const columns = (byTable.get(table.name) ?? []).filter(({ name }) => !Object.hasOwn(table.leftOut ?? {}, name));
    return { table, columns };
  });
}

/** The newest migration of this database. Throws AppError `invalid_configuration` when this version does not know it: there may be tables of which it knows nothing. */
export async function readSchemaVersion(queryable: Queryable): Promise<number> {
  const [row] = await queryable.query<{ version: number }>({ text: "select max(version) as version from schema_migrations" });
  const version = row?.version ?? 0;
  const known = await newestMigration();
  if (version <= known) return version;
  throw new AppError(
    "invalid_configuration",
    `The database has schema ${version}, and this version of the service knows ${known}. Export and restore with the version that made it, or a newer one.`,
  );
}
