import { readdir, readFile } from "node:fs/promises";
import pRetry from "p-retry";
import { AppError } from "../../errors/app-error.ts";
import { installJobQueue } from "../jobs/install-job-queue.ts";
import type { Database } from "./database.ts";
import { patientDatabase } from "./patient-database.ts";
import { isLockTrouble } from "./storage-error.ts";

const MIGRATIONS = new URL("./migrations/", import.meta.url);
/** Key of the advisory lock that lets one process migrate at a time: the ASCII bytes of "convers" as a number. */
const LOCK_KEY = "27988542917800563";
/** How long one statement of a migration may take, in milliseconds, and how long a process waits for another that migrates. */
const STATEMENT_MS = 600_000;
/**
 * How long a migration waits for the lock of a table, in milliseconds, before it takes back what it has done and tries again: whoever else
 * wants that table waits behind it. Less than the second after which Postgres ends one of two that wait for each other, so that this is
 * never somebody's turn.
 */
const LOCK_WAIT_MS = 500;
/** How often it tries, and the pause between, in milliseconds. */
const TRIES = 60;
const PAUSE_MS = 500;

interface Migration {
  version: number;
  name: string;
}

async function listMigrations(): Promise<Migration[]> {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).sort();
  return files.map((name) => ({ version: Number.parseInt(name, 10), name }));
}

async function appliedVersions(database: Database): Promise<Set<number>> {
  const [table] = await database.query<{ exists: boolean }>({ text: "select to_regclass('schema_migrations') is not null as exists" });
  if (!table?.exists) return new Set();
  const rows = await database.query<{ version: number }>({ text: "select version from schema_migrations" });
  return new Set(rows.map((row) => row.version));
}

/** Runs one migration in a transaction of its own; does nothing when another process was faster. */
async function applyMigration(database: Database, migration: Migration): Promise<boolean> {
  const sql = await readFile(new URL(migration.name, MIGRATIONS), "utf8");
  return database.transaction(async (transaction) => {
    await transaction.query({ text: "select pg_advisory_xact_lock($1)", values: [LOCK_KEY] });
    await transaction.query({
      text: "create table if not exists schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now())",
    });
    const claimed = await transaction.query({
      text: "insert into schema_migrations (version, name) values ($1, $2) on conflict do nothing returning version",
      values: [migration.version, migration.name],
    });
    if (claimed.length === 0) return false;
    await transaction.query({ text: `set local statement_timeout = ${STATEMENT_MS}; set local lock_timeout = ${LOCK_WAIT_MS}` });
    await transaction.query({ text: sql }); // without values: the simple protocol, which takes several statements
    return true;
  });
}

/** Tries until nobody holds the tables that it needs. */
async function applyInTurn(database: Database, migration: Migration): Promise<boolean> {
  const isInTheWay = ({ error }: { error: unknown }): boolean => isLockTrouble(error);
  try {
    const options = { retries: TRIES - 1, minTimeout: PAUSE_MS, factor: 1, shouldRetry: isInTheWay };
    return await pRetry(() => applyMigration(database, migration), options);
  } catch (cause) {
    if (!isLockTrouble(cause)) throw cause;
    const message = `Migration ${migration.name} found its tables in use ${TRIES} times, and changed nothing. End the long transaction that holds them (pg_stat_activity shows it) and start again.`;
    throw new AppError("storage_unavailable", message, { cause });
  }
}

/**
 * Brings the schema up to date, the job queue's included, and returns the names of the migrations this call applied. Safe when several
 * processes start together: each migration is one transaction under an advisory lock, and its version row is written first. Migrations that
 * are applied and not known here are a newer version's, which keeps its schema usable for the one before: they are left alone. A statement
 * has ten minutes; tables that are in use are asked for again and again for a minute, and are never in the way of others for longer than half a
 * second. Throws AppError `storage_unavailable` when Postgres cannot be reached or a table stays locked.
 */
export async function migrate(database: Database): Promise<string[]> {
  const patient = patientDatabase(database, STATEMENT_MS);
  const [migrations, applied] = await Promise.all([listMigrations(), appliedVersions(patient)]);
  const names: string[] = [];
  for (const migration of migrations) {
    if (!applied.has(migration.version) && (await applyInTurn(patient, migration))) names.push(migration.name);
  }
  await installJobQueue(patient);
  return names;
}
