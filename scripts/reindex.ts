import { rebuildIndex } from "../memory/episodes/rebuild-index.ts";
import { type Config, parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openSearchStore } from "../server/parts/open-memory.ts";
import { openEmbedder } from "../server/parts/open-models.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import { removeThoughts } from "../stores/postgres/turns/remove-thoughts.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { withStatementTimeout } from "../stores/postgres/database/database-decorators.ts";
import { dropRetiredIndexes, type RetiredIndex } from "../stores/search/retired-indexes.ts";
import { belowProgress, showProgress } from "./progress-bar.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run reindex                  takes the thoughts of models out of stored answers and rebuilds the search index; may be
                                 interrupted and run again
npm run reindex -- --drop-old    only drops old indexes that are still there; for those in Milvus, set MILVUS_ADDRESS`;

/** In milliseconds: some statements read every conversation. */
const STATEMENT_MS = 600_000;

/** Names remaining old indexes. They hold users' words and vectors, which no erase reaches. */
function tellLeft(left: readonly RetiredIndex[]): void {
  for (const { name, places, why } of left) console.error(`The old index ${name} is still there: ${places}. ${why.message}`);
  if (left.length === 0) return;
  console.error(
    "The next reindex tries again, and so does each start of the service. `npm run reindex -- --drop-old` only drops old indexes;" +
      " for a Milvus that is no longer configured, set MILVUS_ADDRESS for that call.",
  );
}

async function rebuild(config: Config, database: Database, signal: AbortSignal): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const embedder = await openEmbedder(config);
  const store = await openSearchStore(config, database);
  opened.defer(() => store.close());
  const began = performance.now();
  const { answers, summaries } = await removeThoughts(database, signal);
  if (answers + summaries > 0) console.log(`Thoughts taken out of what is stored. Answers: ${answers}, summaries: ${summaries}.`);
  const { episodes, resumed, left } = await rebuildIndex({
    database,
    store,
    embedder,
    timeZone: config.TIME_ZONE,
    isAlone: database.isEmbedded, // its folder is locked
    onProgress: (done, total) => showProgress(done, total, "turns"),
    signal,
  });
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    belowProgress(
      `${episodes} episodes ${resumed ? "in all, resumed where it was interrupted" : "indexed"}, ${embedder.name} in ${store.description}, ${seconds} s`,
    ),
  );
  tellLeft(left);
}

async function dropOnly(config: Config, database: Database, signal: AbortSignal): Promise<void> {
  await using opened = new AsyncDisposableStack();
  // Whatever is in this database is dropped through it.
  const store = config.MILVUS_ADDRESS === undefined ? null : await openSearchStore(config, database);
  if (store) opened.defer(() => store.close());
  const left = await dropRetiredIndexes({ database, store, isAlone: database.isEmbedded, signal });
  tellLeft(left);
  if (left.length > 0) process.exitCode = 1;
  else console.log("no old index is left");
}

const options = { "drop-old": { type: "boolean", default: false } } as const;

await runCommand({ usage: USAGE, options }, async ({ values }) => {
  await using opened = new AsyncDisposableStack();
  const config = parseConfig(readEnvironment());
  const database = withStatementTimeout(await openDatabase(config), STATEMENT_MS);
  opened.defer(() => database.close());
  await migrate(database);
  const stopping = new AbortController();
  process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());
  await (values["drop-old"] ? dropOnly : rebuild)(config, database, stopping.signal);
});
