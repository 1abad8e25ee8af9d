import { type Database, type Queryable, queryRow } from "../database/database.ts";

export interface TableSize {
  name: string;
  bytes: number;
}

/** Includes the planner's statistics, which sample values. */
const TABLES = `
select format('%I.%I', nspname, relname) as name, pg_total_relation_size(pg_class.oid)::float8 as bytes
from pg_class join pg_namespace on pg_namespace.oid = relnamespace
where relkind = 'r' and (nspname in ('public', 'pgboss', 'search') or pg_class.oid = 'pg_catalog.pg_statistic'::regclass)
order by nspname = 'pg_catalog', pg_class.oid`;

const IS_BUSY = `
select exists (select from conversations where turn_id is not null and turn_lease_until >= clock_timestamp() and turn_lease_until < 'infinity')
  or exists (select from pgboss.job where data->>'kind' <> 'vacuum' and (state = 'active' or state < 'active' and start_after <= clock_timestamp()))
  as "isBusy"`;

const LOG_FILES = 1;
/** For recycled files of older versions. */
const MOST_SWITCHES = 100;

/** The statistics change with each table, so they come last. */
export function listTables(database: Database): Promise<TableSize[]> {
  return database.query<TableSize>({ text: TABLES });
}

export async function isBusy(database: Database): Promise<boolean> {
  return (await queryRow<{ isBusy: boolean }>(database, { text: IS_BUSY })).isBusy;
}

/** Locks the table. A plain vacuum leaves deleted text in free space. */
export async function rewriteTable(database: Database, { name }: TableSize): Promise<void> {
  await database.query({ text: name === "pg_catalog.pg_statistic" ? `vacuum (full) ${name}` : `vacuum (full, analyze) ${name}` });
}

/** Switches log files until the old ones are deleted. For a database without replicas. */
export async function dropOldLog(database: Database): Promise<void> {
  for (let switches = 0; switches < MOST_SWITCHES; switches++) {
    await database.query({ text: "select pg_switch_wal()" });
    await database.query({ text: "checkpoint" });
    const { files } = await queryRow<{ files: number }>(database, { text: "select count(*)::int as files from pg_ls_waldir()" });
    if (files <= LOG_FILES) return;
  }
}

/** As text; null when no marker is stored. */
export async function lastErase(database: Queryable): Promise<string | null> {
  return (await queryRow<{ at: string | null }>(database, { text: "select max(erased_at)::text as at from erase_markers" })).at;
}
