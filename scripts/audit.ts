import { AppError } from "../errors/app-error.ts";
import { findResidualData } from "../memory/erase/find-residual-data.ts";
import { parseConfig, readEnvironment } from "../server/start/config.ts";
import { openSearchStore } from "../server/start/open-memory.ts";
import { openDatabase } from "../server/start/open-stores.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { listIndexNames } from "../stores/search/open-episode-index.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run audit -- --user ID [--tenant TENANT]    shows what every store holds of a user: nothing after an erase
Exit status: 0 nothing was found, 2 something was found, 1 a store could not be searched`;

const options = { user: { type: "string" }, tenant: { type: "string", default: "default" } } as const;

await runCommand({ usage: USAGE, options }, async ({ values: { user: userId, tenant: tenantId } }, refuse) => {
  await using opened = new AsyncDisposableStack();
  const owner = { tenantId, userId: userId ?? refuse() };
  const config = parseConfig(readEnvironment());
  const database = await openDatabase(config);
  opened.defer(() => database.close());
  await migrate(database);
  // Whatever an index holds in this database is among its tables.
  const store = config.MILVUS_ADDRESS === undefined ? null : await openSearchStore(config, database);
  if (store) opened.defer(() => store.close());
  const leftovers = await findResidualData(database, store, owner);
  for (const { place, count } of leftovers) console.log(`${place}: ${count}`);
  const unseen = store ? [] : await listIndexNames(database, "milvus");
  if (unseen.length > 0) {
    throw new AppError("invalid_configuration", `Not searched: ${unseen.join(", ")} in Milvus. Set MILVUS_ADDRESS and run it again.`);
  }
  console.log(
    leftovers.length === 0 ? `nothing of user "${owner.userId}"` : `${leftovers.length} places hold something of user "${owner.userId}"`,
  );
  if (leftovers.length > 0) process.exitCode = 2;
});
