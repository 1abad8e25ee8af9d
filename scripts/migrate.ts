import { parseConfig, readEnvironment } from "../server/settings/config.ts";
import { openDatabase } from "../server/parts/open-stores.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";
import { runCommand } from "./run-command.ts";

const USAGE = "npm run migrate    brings the database up to date and ends; the service does it too when it starts";

await runCommand({ usage: USAGE }, async () => {
  await using opened = new AsyncDisposableStack();
  const database = await openDatabase(parseConfig(readEnvironment()));
  opened.defer(() => database.close());
  const applied = await migrate(database);
  console.log(`${database.description}: ${applied.length === 0 ? "nothing to do" : `applied ${applied.join(", ")}`}`);
});
