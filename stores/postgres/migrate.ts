import { readdir, readFile } from "node:fs/promises";
import { AppError } from "../../errors/app-error.ts";
import { installJobQueue } from "../jobs/install-job-queue.ts";
import type { Database } from "./database.ts";
import { patientDatabase } from "./patient-database.ts";
import { isLockTimeout } from "./storage-error.ts";

const MIGRATIONS = new URL("./migrations/", import.meta.url);
/** Key of the advisory lock that lets one process migrate at a time: the ASCII bytes of "convers" as a number. */
const LOCK_KEY = "27988542917800563";
/** How long one statement of a migration may take, in milliseconds, and how long a process waits for another that migrates. */
const STATEMENT_MS = 600_000;
/** How long a migration waits for the lock of a table, in milliseconds: whoever else wants that table waits behind it. */
const LOCK_WAIT_MS = 5_000;

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

function explain(error: unknown, { name }: Migration): unknown {
  if (!isLockTimeout(error)) return error;
  const message = `Migration ${name} waited ${LOCK_WAIT_MS / 1_000} s for a table that a long transaction holds, and changed nothing. End that transaction (pg_stat_activity shows it) and start again.`;
  return new AppError("storage_unavailable", message, { cause: error });
}

/** Runs one migration in a transaction of its own; does nothing when another process was faster. */
async function applyMigration(database: Database, migration: Migration): Promise<boolean> {
  const sql = await readFile(new URL(migration.name, MIGRATIONS), "utf8");
  const applied = database.transaction(async (transaction) => {
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
  return applied.catch((error: unknown) => {
    throw explain(error, migration);
  });
}

/**
 * Brings the schema up to date, the job queue's included, and returns the names of the migrations this call applied. Safe when several
 * processes start together: each migration is one transaction under an advisory lock, and its version row is written first. Migrations that
 * are applied and not known here are a newer version's, which keeps its schema usable for the one before: they are left alone. A statement
 * has ten minutes, five seconds of them for the lock of a table. Throws AppError `storage_unavailable` when Postgres cannot be reached or a
 * table stays locked.
 */
export async function migrate(database: Database): Promise<string[]> {
  const patient = patientDatabase(database, STATEMENT_MS);
  const [migrations, applied] = await Promise.all([listMigrations(), appliedVersions(patient)]);
  const names: string[] = [];
  for (const migration of migrations) {
    if (!applied.has(migration.version) && (await applyMigration(patient, migration))) names.push(migration.name);
  }
  await installJobQueue(patient);
  return names;
}
