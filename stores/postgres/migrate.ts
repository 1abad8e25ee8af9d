import { readdir, readFile } from "node:fs/promises";
import { installJobQueue } from "../jobs/install-job-queue.ts";
import type { Database } from "./database.ts";

const MIGRATIONS = new URL("./migrations/", import.meta.url);
/** Key of the advisory lock that lets one process migrate at a time: the ASCII bytes of "convers" as a number. */
const LOCK_KEY = "27988542917800563";

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
    await transaction.query({ text: sql }); // without values: the simple protocol, which takes several statements
    return true;
  });
}

/**
 * Brings the schema up to date, the job queue's included, and returns the names of the migrations this call applied. Safe when several
 * processes start together: each migration is one transaction under an advisory lock, and its version row is written first. Throws
 * AppError `storage_unavailable` when Postgres cannot be reached.
 */
export async function migrate(database: Database): Promise<string[]> {
  const [migrations, applied] = await Promise.all([listMigrations(), appliedVersions(database)]);
  const names: string[] = [];
  for (const migration of migrations) {
    if (!applied.has(migration.version) && (await applyMigration(database, migration))) names.push(migration.name);
  }
  await installJobQueue(database);
  return names;
}
