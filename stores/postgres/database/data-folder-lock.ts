import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { isNativeError } from "node:util/types";
import { AppError } from "../../../errors/app-error.ts";

/** SQLITE_BUSY: https://www.sqlite.org/rescode.html#busy */
const BUSY = 5;

function isBusy(error: unknown): boolean {
  return isNativeError(error) && "errcode" in error && error.errcode === BUSY;
}

export function isFolderInUse(error: unknown): boolean {
  return error instanceof AppError && isBusy(error.cause);
}

function notWritable(dataDir: string, cause: unknown): AppError {
  return new AppError("invalid_configuration", `DATA_DIR "${dataDir}" cannot be written. Choose a folder that this user may write to.`, {
    cause,
  });
}

/** Loads SQLite when needed, without Node 22's warning: only transactions are used, which will not change. */
function loadSqlite() {
  const warn = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = warn;
  }
}

async function openLockFile(dataDir: string): Promise<DatabaseSync> {
  const { DatabaseSync } = loadSqlite();
  try {
    await mkdir(dataDir, { recursive: true });
    return new DatabaseSync(path.join(dataDir, "process.lock"), { timeout: 0 });
  } catch (cause) {
    throw notWritable(dataDir, cause);
  }
}

/**
 * Locks a data folder for this process; returns the release. PGlite has no lock and Node no file lock, so an exclusive SQLite transaction
 * serves: the operating system ends it with the process.
 */
export async function lockDataFolder(dataDir: string): Promise<() => void> {
  const lock = await openLockFile(dataDir);
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    if (!isBusy(cause)) throw notWritable(dataDir, cause);
    throw new AppError(
      "invalid_configuration",
      `DATA_DIR "${dataDir}" is in use by another process. Stop that one, choose another DATA_DIR, or set DATABASE_URL to share a real Postgres.`,
      { cause },
    );
  }
  return () => lock.close();
}
