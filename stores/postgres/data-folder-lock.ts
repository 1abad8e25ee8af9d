import { mkdir } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError } from "../../errors/app-error.ts";

async function openLockFile(dataDir: string): Promise<DatabaseSync> {
  try {
    await mkdir(dataDir, { recursive: true });
    return new DatabaseSync(path.join(dataDir, "process.lock"), { timeout: 0 });
  } catch (cause) {
    throw new AppError("invalid_configuration", `DATA_DIR "${dataDir}" cannot be written. Choose a folder that this user may write to.`, {
      cause,
    });
  }
}

/**
 * Takes a data folder for this process alone and returns the release. PGlite itself has no lock: a second process' writes vanish silently.
 * Node offers no file lock, so an exclusive SQLite transaction serves as one: the operating system frees it when the process dies,
 * kill -9 included, and it is neither stale nor fooled by a reused process id.
 */
export async function lockDataFolder(dataDir: string): Promise<() => void> {
  const lock = await openLockFile(dataDir);
  try {
    lock.exec("begin exclusive");
  } catch (cause) {
    lock.close();
    throw new AppError(
      "invalid_configuration",
      `DATA_DIR "${dataDir}" is in use by another process. Stop that one, choose another DATA_DIR, or set DATABASE_URL to share a real Postgres.`,
      { cause },
    );
  }
  return () => lock.close();
}
