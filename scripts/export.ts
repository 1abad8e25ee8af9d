import { createWriteStream, existsSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { AppError } from "../errors/app-error.ts";
import { type Config, parseConfig, readEnvironment } from "../server/start/config.ts";
import { openDatabase } from "../server/start/open-stores.ts";
import { countRows, exportLines, inSnapshot } from "../stores/postgres/export/export-lines.ts";
import type { ExportScope } from "../stores/postgres/export/exported-tables.ts";
import { isFolderInUse } from "../stores/postgres/database/data-folder-lock.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { belowProgress, showProgress } from "./progress-bar.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run export -- FILE [--tenant TENANT] [--user ID]    writes all conversations, memories and documents to a new file
--tenant: only that tenant; --user: only that user, of the tenant "default" unless --tenant names another
\`npm run restore -- FILE\` brings it back into an empty database. FILE is compressed: name it like backup.jsonl.gz`;

const options = { user: { type: "string" }, tenant: { type: "string" } } as const;

async function openExisting(config: Config): Promise<Database> {
  const { DATABASE_URL, DATA_DIR } = config;
  if (DATABASE_URL === undefined && !existsSync(path.join(DATA_DIR, "postgres"))) {
    throw new AppError(
      "invalid_configuration",
      `There is no database in DATA_DIR "${DATA_DIR}". Set DATA_DIR or DATABASE_URL to the one you want to export.`,
    );
  }
  return openDatabase(config).catch((error: unknown) => {
    if (!isFolderInUse(error)) throw error;
    throw new AppError(
      "invalid_configuration",
      `DATA_DIR "${DATA_DIR}" is in use by another process. Stop the service, export, and start it again. A running service exports one user:` +
        " GET /api/v1/users/ID/export.",
      { cause: error },
    );
  });
}

function reportedCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "no reason given";
}

async function write(database: Database, { file, ...scope }: ExportScope & { file: string }, signal: AbortSignal): Promise<number> {
  return inSnapshot(database, async (snapshot) => {
    const total = await countRows(snapshot, scope);
    if (total === 0 && scope.tenantId !== undefined) {
      const whose = scope.userId === undefined ? `tenant "${scope.tenantId}"` : `user "${scope.userId}" of tenant "${scope.tenantId}"`;
      throw new AppError("not_found", `There is nothing of ${whose}. No file was written.`);
    }
    // Everything that everybody has said: for nobody else to read.
    const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
      throw new AppError("invalid_request", `"${file}" cannot be written, or exists already. Name a new file in an existing folder.`, {
        cause,
      });
    });
    await handle.close();
    try {
      const lines = exportLines(snapshot, scope, (done) => showProgress(done, total, "rows"));
      await pipeline(lines, createGzip(), createWriteStream(file), { signal });
    } catch (cause) {
      await rm(file, { force: true });
      if (cause instanceof AppError) throw cause;
      const why = signal.aborted ? "The export was interrupted" : `"${file}" could not be written to its end (${reportedCode(cause)})`;
      throw new AppError("invalid_request", `${why}. The unfinished file was deleted. Export again.`, { cause });
    }
    return total;
  });
}

await runCommand({ usage: USAGE, options, words: [1, 1] }, async ({ values, positionals: [file = ""] }) => {
  await using opened = new AsyncDisposableStack();
  const { user: userId, tenant: tenantId = userId === undefined ? undefined : "default" } = values;
  const wanted = { file, tenantId, userId };
  const database = await openExisting(parseConfig(readEnvironment()));
  opened.defer(() => database.close());
  await migrate(database);
  const stopping = new AbortController();
  process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());
  const began = performance.now();
  const rows = await write(database, wanted, stopping.signal);
  const { size } = await stat(file);
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(belowProgress(`${rows} rows of ${database.description} in ${file}, ${(size / 1e6).toFixed(1)} MB, ${seconds} s`));
});
