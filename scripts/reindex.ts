import { toAppError } from "../errors/app-error.ts";
import { rebuildEpisodes } from "../memory/episodes/rebuild-episodes.ts";
import { parseConfig } from "../server/config.ts";
import { openEmbedder, openSearchStore } from "../server/open-episodes.ts";
import { openDatabase } from "../server/open-graph.ts";
import { readEnvironment } from "../server/read-environment.ts";
import { migrate } from "../stores/postgres/migrate.ts";
import { showProgress } from "./progress-bar.ts";

try {
  await using opened = new AsyncDisposableStack();
  const config = parseConfig(readEnvironment());
  const database = await openDatabase(config);
  opened.defer(() => database.close());
  await migrate(database);
  const embedder = await openEmbedder(config);
  const store = await openSearchStore(config, database);
  opened.defer(() => store.close());
  const stopping = new AbortController();
  process.once("SIGINT", () => stopping.abort()).once("SIGTERM", () => stopping.abort());
  const began = performance.now();
  const { episodes, resumed } = await rebuildEpisodes({
    database,
    store,
    embedder,
    timeZone: config.TIME_ZONE,
    onProgress: (done, total) => showProgress(done, total, "turns"),
    signal: stopping.signal,
  });
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `\n${episodes} episodes ${resumed ? "in all, taken up where it was interrupted" : "indexed"}, ${embedder.name} in ${store.description}, ${seconds} s`,
  );
} catch (error) {
  console.error(`\n${toAppError(error).message}`);
  process.exitCode = 1;
}
