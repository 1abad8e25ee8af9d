import { createWriteStream, existsSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { AppError } from "../errors/app-error.ts";
import { type Config, parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import { countRows, exportLines, inReadTransaction } from "../stores/postgres/export/export-lines.ts";
import type { ExportScope } from "../stores/postgres/export/exported-tables.ts";
import { isFolderInUse } from "../stores/postgres/database/data-folder-lock.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { callService, type RunningService, serviceBehind, userAddress } from "./call-service.ts";
import { belowProgress, showProgress } from "./progress-bar.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run export -- FILE [--tenant TENANT] [--user ID]    writes all conversations, memories and documents to a new file
--tenant: only that tenant; --user: only that user, of the tenant "default" unless --tenant names another
\`npm run restore -- FILE\` brings it back into an empty database. FILE is compressed: name it like backup.jsonl.gz`;

type Wanted = ExportScope & { file: string };

const options = { user: { type: "string" }, tenant: { type: "string" } } as const;

/** The database, or the service that holds it, which exports one user. */
async function openExisting(config: Config, { tenantId, userId }: ExportScope): Promise<Database | RunningService> {
  const { DATABASE_URL, DATA_DIR } = config;
  if (DATABASE_URL === undefined && !existsSync(path.join(DATA_DIR, "postgres"))) {
    throw new AppError(
      "invalid_configuration",
      `There is no database in DATA_DIR "${DATA_DIR}". Set DATA_DIR or DATABASE_URL to the one you want to export.`,
    );
  }
  return openDatabase(config).catch((error: unknown) => {
    if (!isFolderInUse(error)) throw error;
    if (userId !== undefined) return serviceBehind(error, config, tenantId);
    throw new AppError(
      "invalid_configuration",
      `DATA_DIR "${DATA_DIR}" is in use by another process. Stop the service, export, and start it again. With --user ID, a running service is asked.`,
      { cause: error },
    );
  });
}

function reportedCode(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "no reason given";
}

/** Writes a new file, or none. Returns its number of rows. */
async function save(lines: AsyncIterable<string>, { file, ...scope }: Wanted, signal: AbortSignal): Promise<number> {
  // Everything that everybody has said: for nobody else to read.
  const handle = await open(file, "wx", 0o600).catch((cause: unknown) => {
    throw new AppError("invalid_request", `"${file}" cannot be written, or exists already. Name a new file in an existing folder.`, {
      cause,
    });
  });
  await handle.close();
  let rows = -2; // the header and the end
  async function* counted(): AsyncGenerator<string> {
    for await (const piece of lines) {
      rows += piece.split("\n").length - 1;
      yield piece;
    }
  }
  try {
    await pipeline(counted, createGzip(), createWriteStream(file), { signal });
    if (rows === 0 && scope.tenantId !== undefined) {
      const whose = scope.userId === undefined ? `tenant "${scope.tenantId}"` : `user "${scope.userId}" of tenant "${scope.tenantId}"`;
      throw new AppError("not_found", `There is nothing of ${whose}. No file was written.`);
    }
    return rows;
  } catch (cause) {
    await rm(file, { force: true });
    if (cause instanceof AppError) throw cause;
    const why = signal.aborted ? "The export was interrupted" : `"${file}" could not be written to its end (${reportedCode(cause)})`;
    throw new AppError("invalid_request", `${why}. The unfinished file was deleted. Export again.`, { cause });
  }
}

async function exportDatabase(database: Database, wanted: Wanted, signal: AbortSignal): Promise<number> {
  await migrate(database);
  return inReadTransaction(database, async (transaction) => {
    const total = await countRows(transaction, wanted);
    return save(
      exportLines(transaction, wanted, (done) => showProgress(done, total, "rows")),
      wanted,
      signal,
    );
  });
}

async function exportFromService(service: RunningService, wanted: Wanted, signal: AbortSignal): Promise<number> {
  const { body } = await callService(service, userAddress(wanted.userId ?? "", "export"), { signal });
  return save(body?.pipeThrough(new TextDecoderStream()) ?? Readable.from([]), wanted, signal);
}

await runCommand({ usage: USAGE, options, words: [1, 1] }, async ({ values, positionals: [file = ""] }) => {
  const { user: userId, tenant: tenantId = userId === undefined ? undefined : "default" } = values;
  const wanted = { file, tenantId, userId };
  const from = await openExisting(parseConfig(readEnvironment()), wanted);
  const stopping = new AbortController();
  process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());
  const began = performance.now();
  await using opened = new AsyncDisposableStack();
  if ("query" in from) opened.defer(() => from.close());
  const rows = await ("query" in from ? exportDatabase(from, wanted, stopping.signal) : exportFromService(from, wanted, stopping.signal));
  const { size } = await stat(file);
  const seconds = Math.round((performance.now() - began) / 1_000);
  const source = "query" in from ? from.description : `the service at ${from.url}`;
  console.log(belowProgress(`${rows} rows of ${source} in ${file}, ${(size / 1e6).toFixed(1)} MB, ${seconds} s`));
});
