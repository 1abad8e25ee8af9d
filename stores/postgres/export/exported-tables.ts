import { AppError } from "../../../errors/app-error.ts";
import type { Queryable } from "../database/database.ts";
import { newestMigration } from "../database/migrate.ts";

/** Whose data: everybody's, those of a tenant, or of one of its users. */
export interface ExportScope {
  tenantId?: string | undefined;
  /** Only with its tenant. */
  userId?: string | undefined;
}

/** A table whose rows are truth: they can be made from nothing else. */
export interface ExportedTable {
  name: string;
  /** Which rows belong to a conversation, a user or a tenant, where the columns do not say it. */
  belongs?: "by its question" | "by its document";
  /** Columns that are left out, each with the reason. A restored row has their defaults. */
  leftOut?: Readonly<Record<string, string>>;
}

const OF_THE_INDEX = "derived: says which indexes have it, and there is none after a restore";
const OF_A_PROCESS = "runtime: a lease of a process, which ends with it";

/** What an export holds, in the order in which it is restored: what others refer to comes first. Its columns are read from the catalogue. */
export const EXPORTED_TABLES: readonly ExportedTable[] = [
  { name: "conversations", leftOut: { turn_id: OF_A_PROCESS, turn_lease_until: OF_A_PROCESS } },
  { name: "messages" },
  { name: "conversation_summaries" },
  { name: "conversation_summary_versions" },
  { name: "memory_cursors" }, // without them the memory agent would read every turn again
  { name: "turns_to_read_again" },
  { name: "archived_memories", leftOut: { index_names: OF_THE_INDEX } },
  { name: "turns", belongs: "by its question" }, // a key that is sent again after a move is still the same turn
  { name: "core_memory_sections" },
  { name: "core_memory_versions" },
  { name: "core_memory_lines" },
  { name: "memory_operations" },
  { name: "knowledge_bases" },
  { name: "knowledge_documents" },
  { name: "knowledge_chunks", belongs: "by its document", leftOut: { index_names: OF_THE_INDEX } },
  { name: "token_usage" },
];

/** What no export holds, by table, each with the reason. A table must be in one of the two lists: a test reads the catalogue. */
export const NOT_EXPORTED: Readonly<Record<string, string>> = {
  schema_migrations: "the first line of an export names the newest migration",
  search_indexes: "derived: a service makes an index when it starts and finds none",
  episode_cursors: "derived: how far an index is filled, and a new one is empty",
  erasures: "runtime: how far large erases have got; what they have set aside is in no export",
  erase_markers: "runtime: for turns and rebuilds that ran beside an erase, in the old store",
};

/** Schemas of which nothing is exported, each with the reason. */
export const SCHEMAS_NOT_EXPORTED: Readonly<Record<string, string>> = {
  pgboss: "runtime: jobs are added anew for what a restored store has left to do",
  search: "derived: the index, made from messages and documents",
};

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
