import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { newestMigration } from "../database/migrate.ts";

export interface ExportScope {
  tenantId?: string | undefined;
  userId?: string | undefined;
}

export interface ExportedTable {
  name: string;
  /** Set where no column names the owner. */
  belongs?: "by its question" | "by its document" | "by its messages" | "by its conversation";
  /** Columns without export, with the reason. Restored rows have their defaults. */
  omitted?: Readonly<Record<string, string>>;
}

const OF_THE_INDEX = "derived: says which indexes have it, and there is none after a restore";
const OF_BRANCHES = {
  path: "derived: from the branches",
  remembered_path: "derived: the path",
  path_message_count: "derived: counted when somebody asks",
};
const OF_A_PROCESS = "runtime: a lease of a process, which ends with it";

/** In the order of restoring: referenced tables first. */
export const EXPORTED_TABLES: readonly ExportedTable[] = [
  { name: "conversations", omitted: { turn_id: OF_A_PROCESS, turn_lease_until: OF_A_PROCESS, ...OF_BRANCHES } },
  { name: "forks", omitted: { source_ids: "derived: from the path" } },
  { name: "branches" },
  { name: "snapshots" },
  { name: "messages" },
  { name: "message_ratings" },
  { name: "pictures", belongs: "by its messages" },
  { name: "message_pictures" },
  { name: "conversation_summaries" },
  { name: "conversation_summary_versions" },
  { name: "memory_cursors" }, // else the memory agent would read every turn again
  { name: "turns_to_read_again" },
  { name: "archived_memories", omitted: { index_names: OF_THE_INDEX } },
  { name: "turns", belongs: "by its question" }, // a repeated key is the same turn, also after a move
  { name: "turn_steps", omitted: { runner: OF_A_PROCESS } },
  { name: "questions", omitted: { resume: OF_A_PROCESS, taken: OF_A_PROCESS } },
  { name: "permissions" },
  { name: "decisions" },
  { name: "conversation_agents" },
  { name: "agent_runs", belongs: "by its conversation" },
  { name: "agents" },
  { name: "agent_versions" },
  { name: "tenant_rules" },
  { name: "skills" },
  { name: "core_memory_sections" },
  { name: "core_memory_versions" },
  { name: "core_memory_lines" },
  { name: "memory_operations" },
  { name: "knowledge_bases" },
  { name: "knowledge_documents" },
  { name: "knowledge_chunks", belongs: "by its document", omitted: { index_names: OF_THE_INDEX } },
  { name: "token_usage" },
  { name: "model_usage" },
];

/** Tables without export, with the reason. A test compares both lists with the catalogue. */
export const NOT_EXPORTED: Readonly<Record<string, string>> = {
  schema_migrations: "the first line of an export names the newest migration",
  search_indexes: "derived: a service makes an index when it starts and finds none",
  episode_cursors: "derived: how far an index is filled, and a new one is empty",
  model_measures: "runtime: what the servers of models have shown, and show again",
  model_dialects: "runtime: what the servers of models have refused, and refuse again",
  mcp_grants: "secrets: sealed with the SECRETS_KEY of this service; users sign in again",
  mcp_servers: "secrets: sealed with the SECRETS_KEY of this service; tenants add them again",
  erasures: "runtime: how far large erases have got; what they have set aside is in no export",
  erase_markers: "runtime: for turns and rebuilds that ran beside an erase, in the old store",
};

export const SCHEMAS_NOT_EXPORTED: Readonly<Record<string, string>> = {
  pgboss: "runtime: jobs are added anew for what a restored store has left to do",
  search: "derived: the index, made from messages and documents",
};

export interface Column {
  name: string;
  /** As Postgres writes it: `uuid`, `text[]`, `timestamp(3) with time zone`. */
  type: string;
  isNullable: boolean;
  hasDefault: boolean;
  keyPosition: number | null;
}

export interface TableColumns {
  table: ExportedTable;
  columns: Column[];
}

/** Without generated columns. */
const COLUMNS = `
select relname as "table", attname as name, format_type(atttypid, atttypmod) as type, not attnotnull as "isNullable", atthasdef as "hasDefault",
  array_position(conkey, attnum) as "keyPosition"
from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_constraint on conrelid = attrelid and contype = 'p'
where relnamespace = 'public'::regnamespace and relname = any($1) and attnum > 0 and not attisdropped and attgenerated = ''
order by relname, attnum`;

export async function readColumns(queryable: Queryable): Promise<TableColumns[]> {
  const names = EXPORTED_TABLES.map(({ name }) => name);
  const rows = await queryable.query<Column & { table: string }>({ text: COLUMNS, values: [names] });
  const byTable = Map.groupBy(rows, (row) => row.table);
  return EXPORTED_TABLES.map((table) => {
    const columns = (byTable.get(table.name) ?? []).filter(({ name }) => !Object.hasOwn(table.omitted ?? {}, name));
    return { table, columns };
  });
}

/** The newest migration. Throws AppError `storage_unavailable` when this version does not know it, as the older one in a rolling update. */
export async function readSchemaVersion(queryable: Queryable): Promise<number> {
  const { version } = await queryRow<{ version: number }>(queryable, { text: "select max(version) as version from schema_migrations" });
  const known = await newestMigration();
  if (version <= known) return version;
  throw new AppError(
    "storage_unavailable",
    `The database has schema ${version}, and this version of the service knows ${known}. Export and restore with the version that made it, or a newer one.`,
  );
}

export const EXPORT_FORMAT = "conversation-graph export";
export const FORMAT_VERSION = 1;

export const Header = z.object({
  kind: z.literal("header"),
  format: z.literal(EXPORT_FORMAT),
  version: z.int(),
  schema: z.int(),
  /** Null for everybody's data. */
  tenant: z.string().nullable(),
  user: z.string().nullable(),
  exported_at: z.iso.datetime(),
});

/** The SHA-256 is of all lines before. */
export const End = z.object({
  kind: z.literal("end"),
  rows: z.record(z.string(), z.int().nonnegative()),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "is no SHA-256"),
});

const text = z
  .string()
  .refine((value) => !value.includes("\0") && value.isWellFormed(), "holds a NUL character or half of a surrogate pair");
const integer = (bits: number) =>
  z
    .int()
    .min(-(2 ** (bits - 1)))
    .max(2 ** (bits - 1) - 1);

const storedJson = z.json().refine((value) => !JSON.stringify(value).includes("\\u0000"), "holds a NUL character");

const OF_TYPE: Readonly<Record<string, z.ZodType>> = {
  uuid: z.guid(),
  text,
  boolean: z.boolean(),
  smallint: integer(16),
  integer: integer(32),
  bigint: z.int(),
  "double precision": z.number(),
  json: storedJson,
  jsonb: storedJson,
  "timestamp with time zone": z
    .string()
    .regex(/^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$/, "is no time like 2026-11-23T08:15:00+00:00"),
  date: z.iso.date(),
  bytea: z.string().startsWith("\\x", "is no bytes: they begin with \\x and are hexadecimal"),
};

function schemaOf({ name, type, isNullable, hasDefault }: Column): z.ZodType {
  const plain = type.replace(/\(\d+\)/, "");
  const single = OF_TYPE[plain.replace(/\[\]$/, "")];
  if (!single) throw new Error(`no export can hold ${name} of type ${type} yet: say in exported-tables.ts how it stands in JSON`);
  const value = plain.endsWith("[]") ? z.array(single) : single;
  if (isNullable) return value.nullable().optional();
  return hasDefault ? value.optional() : value;
}

/** Nullable columns and those with a default may be missing, as in older exports. */
export function rowSchema({ columns }: TableColumns): z.ZodObject {
  return z.strictObject(Object.fromEntries(columns.map((column) => [column.name, schemaOf(column)])));
}
