import { readdir, readFile } from "node:fs/promises";
import { packageFile } from "../../../errors/package-file.ts";
import pRetry from "p-retry";
import { AppError } from "../../../errors/app-error.ts";
import { installJobQueue } from "./pg-boss.ts";
import type { Database } from "./database.ts";
import { LONG_STATEMENT_MS, withStatementTimeout } from "./database-decorators.ts";
import { isLockFailure } from "./storage-errors.ts";

const MIGRATIONS = packageFile("stores/postgres/migrations/");
/** The ASCII bytes of "convers" as a number. */
const LOCK_KEY = "27988542917800563";
/**
 * Milliseconds for a table's lock: others queue after it. Less than the second of Postgres' deadlock check, so that no turn is its victim.
 */
const LOCK_WAIT_MS = 500;
const TRIES = 60;
const PAUSE_MS = 500;

/** The newest migration of the version before, which may serve beside this one. */
const COMPATIBLE_FROM = /^-- Compatible from (\d{4})\.$/m;
/** The migrations that a file replaces, and the version of the service that still has them. */
const STANDS_FOR = /^-- Stands for \d{4} to (\d{4}) of version (\S+)\.$/m;

interface Migration {
  version: number;
  /** The newest migration that it stands for; its own number when it replaces none. */
  last: number;
  /** The version of the service that has the migrations it replaces. */
  replacedIn: string | undefined;
  name: string;
  sql: string;
}

interface AppliedMigration {
  version: number;
  name: string;
  /** The newest migration a process must know to serve beside this one; null: this one. */
  compatibleFrom: number | null;
}

async function listMigrations(folder: URL): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
  return Promise.all(
    files.map(async (name) => {
      const sql = await readFile(new URL(name, folder), "utf8");
      const [, last = name, replacedIn] = STANDS_FOR.exec(sql) ?? [];
      return { version: Number.parseInt(name, 10), last: Number.parseInt(last, 10), replacedIn, name, sql };
    }),
  );
}

export async function newestMigration(): Promise<number> {
  return (await listMigrations(MIGRATIONS)).at(-1)?.last ?? 0;
}

const CREATE_TABLE = `
create table if not exists schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now());
alter table schema_migrations add column if not exists compatible_from integer`;

/** As JSON: older versions made the table without `compatible_from`. */
const APPLIED = `
select version, name, (to_jsonb(schema_migrations) ->> 'compatible_from')::integer as "compatibleFrom"
from schema_migrations order by version`;

async function listApplied(database: Database): Promise<AppliedMigration[]> {
  const [table] = await database.query<{ exists: boolean }>({ text: "select to_regclass('schema_migrations') is not null as exists" });
  return table?.exists ? database.query<AppliedMigration>({ text: APPLIED }) : [];
}

/** Throws AppError `invalid_configuration` when the schema is too new. */
function assertCompatible(applied: readonly AppliedMigration[], newest: number): void {
  const tooNew = applied.find(({ version, compatibleFrom }) => version > newest && (compatibleFrom ?? version) > newest);
  if (!tooNew) return;
  throw new AppError(
    "invalid_configuration",
    `The schema of the database is more than one version newer than this service: ${tooNew.name} asks for a service that knows migration ` +
      `${tooNew.compatibleFrom ?? tooNew.version}, and this one knows ${newest} at most. Start a newer version, or restore the database from before its update.`,
  );
}

/** Adds a row for each replaced migration, so that the version before finds them applied. */
const CLAIM = `
insert into schema_migrations (version, name, compatible_from) select number, $3, $4::integer from generate_series($1::integer, $2::integer) number
on conflict do nothing returning version`;

/** Throws AppError `invalid_configuration` when the database has only some of the replaced migrations. */
function assertWhole({ version, last, replacedIn, name }: Migration, claimed: number): void {
  const there = last - version + 1 - claimed;
  if (there === 0) return;
  const [stand, wanted] = [version + there - 1, last].map((number) => String(number).padStart(4, "0"));
  throw new AppError(
    "invalid_configuration",
    `The database is at migration ${stand}, and ${name} goes on from ${wanted} or from an empty database. ` +
      `Start version ${replacedIn} of the service on it once, which brings it to ${wanted}, and then this version.`,
  );
}

function applyMigration(database: Database, migration: Migration): Promise<boolean> {
  const { version, last, name, sql } = migration;
  return database.transaction(async (transaction) => {
    await transaction.query({ text: "select pg_advisory_xact_lock($1)", values: [LOCK_KEY] });
    await transaction.query({ text: CREATE_TABLE });
    const [, compatibleFrom] = COMPATIBLE_FROM.exec(sql) ?? [];
    const values = [version, last, name, compatibleFrom === undefined ? null : Number(compatibleFrom)];
    const claimed = await transaction.query({ text: CLAIM, values });
    if (claimed.length === 0) return false;
    assertWhole(migration, claimed.length);
    await transaction.query({ text: `set local statement_timeout = ${LONG_STATEMENT_MS}; set local lock_timeout = ${LOCK_WAIT_MS}` });
    await transaction.query({ text: sql }); // without values: the simple protocol takes several statements
    return true;
  });
}

async function applyInTurn(database: Database, migration: Migration): Promise<boolean> {
  const isInTheWay = ({ error }: { error: unknown }): boolean => isLockFailure(error);
  try {
    const options = { retries: TRIES - 1, minTimeout: PAUSE_MS, factor: 1, shouldRetry: isInTheWay };
    return await pRetry(() => applyMigration(database, migration), options);
  } catch (cause) {
    if (!isLockFailure(cause)) throw cause;
    const message = `Migration ${migration.name} found its tables in use ${TRIES} times, and changed nothing. End the long transaction that holds them (pg_stat_activity shows it) and start again.`;
    throw new AppError("storage_unavailable", message, { cause });
  }
}

/**
 * Brings the schema and the job queue up to date, and returns the names of applied migrations. Safe in several processes at once. Leaves
 * unknown migrations of the next version alone. Throws AppError:
 * - `storage_unavailable` when Postgres cannot be reached or a table stays locked;
 * - `invalid_configuration` when the schema is more than one version newer, or too old for the first migration.
 */
export function migrate(database: Database): Promise<string[]> {
  return migrateFrom(database, MIGRATIONS);
}

export async function migrateFrom(database: Database, folder: URL): Promise<string[]> {
  const patient = withStatementTimeout(database);
  const [migrations, applied] = await Promise.all([listMigrations(folder), listApplied(patient)]);
  assertCompatible(applied, migrations.at(-1)?.last ?? 0);
  const isApplied = new Set(applied.map(({ version }) => version));
  const names: string[] = [];
  for (const migration of migrations) {
    if (!isApplied.has(migration.last) && (await applyInTurn(patient, migration))) names.push(migration.name);
  }
  await installJobQueue(patient);
  return names;
}
