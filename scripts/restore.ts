import { AppError } from "../errors/app-error.ts";
import { parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import { restoreExport } from "../stores/postgres/export/restore-export.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { IN_MEMORY } from "../stores/postgres/database/open-embedded-postgres.ts";
import { belowProgress, showProgress } from "./progress-bar.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run restore -- FILE    brings an export into an empty database, all or nothing
FILE is from \`npm run export\` or GET /api/v1/users/ID/export. The service then indexes and summarises it in the background.`;

await runCommand({ usage: USAGE, words: [1, 1] }, async ({ positionals: [file = ""] }) => {
  await using opened = new AsyncDisposableStack();
  const config = parseConfig(readEnvironment());
  if (config.DATABASE_URL === undefined && config.DATA_DIR.startsWith(IN_MEMORY)) {
    throw new AppError("invalid_configuration", `DATA_DIR "${config.DATA_DIR}" keeps nothing. Set DATA_DIR to a folder, or DATABASE_URL.`);
  }
  const database = await openDatabase(config);
  opened.defer(() => database.close());
  await migrate(database);
  const megabytes = (bytes: number): number => Math.round(bytes / 1e6);
  const stored = await restoreExport({
    database,
    file,
    onChecked: (bytes, total) => showProgress(megabytes(bytes), megabytes(total), "MB checked"),
    onStored: (rows, total) => showProgress(rows, total, "rows"),
  });
  console.log(belowProgress([...stored].map(([table, rows]) => `${table}: ${rows}`).join("\n")));
  console.log(`restored into ${database.description}; a service on it makes the index and what else is derived from now on`);
});
