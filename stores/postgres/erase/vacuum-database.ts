import type { Database } from "../database/database.ts";

/** A table that people's data may have been in, with its indexes. */
export interface TableSize {
  name: string;
  bytes: number;
}

/** Tables of the service, of its queue and of its search index, and what the planner has noted of their most common values. */
const TABLES = `
select format('%I.%I', nspname, relname) as name, pg_total_relation_size(pg_class.oid)::float8 as bytes
from pg_class join pg_namespace on pg_namespace.oid = relnamespace
where relkind = 'r' and (nspname in ('public', 'pgboss', 'search') or pg_class.oid = 'pg_catalog.pg_statistic'::regclass)
order by nspname = 'pg_catalog', pg_class.oid`;

const IS_BUSY = `
select exists (select from conversations where turn_id is not null and turn_lease_until >= clock_timestamp())
  or exists (select from pgboss.job where data->>'kind' <> 'vacuum' and (state = 'active' or state < 'active' and start_after <= clock_timestamp()))
  as "isBusy"`;

/** Files of the log that may be there after one is finished and those before it are deleted: the one that is written. */
const LOG_FILES = 1;
/** The folder of a version that kept old files of the log has a few. */
const MOST_SWITCHES = 100;

/** In the order in which they are to be vacuumed: the planner's notes are made anew with each table, so theirs comes last. */
export function listTables(database: Database): Promise<TableSize[]> {
  return database.query<TableSize>({ text: TABLES });
}

/** Whether a turn is running, or a job is at work or due. */
export async function isBusy(database: Database): Promise<boolean> {
  const [row] = await database.query<{ isBusy: boolean }>({ text: IS_BUSY });
  return row?.isBusy ?? false;
}

/** Writes a table and its indexes anew: vacuuming alone leaves deleted text in the free space of its pages. Nobody can use it meanwhile. */
export async function rewriteTable(database: Database, { name }: TableSize): Promise<void> {
  await database.query({ text: name === "pg_catalog.pg_statistic" ? `vacuum (full) ${name}` : `vacuum (full, analyze) ${name}` });
}

/** Begins a new file of the log until all others, which hold what was written before, are deleted. For a database that nobody replicates. */
export async function dropOldLog(database: Database): Promise<void> {
  for (let switches = 0; switches < MOST_SWITCHES; switches++) {
    await database.query({ text: "select pg_switch_wal()" });
    await database.query({ text: "checkpoint" });
    const [row] = await database.query<{ files: number }>({ text: "select count(*)::int as files from pg_ls_waldir()" });
    if ((row?.files ?? 0) <= LOG_FILES) return;
  }
}

/** When something was erased last, as text; null: not within the time for which markers are kept. */
export async function lastErase(database: Pick<Database, "query">): Promise<string | null> {
  const [row] = await database.query<{ at: string | null }>({ text: "select max(erased_at)::text as at from erase_markers" });
  return row?.at ?? null;
}
