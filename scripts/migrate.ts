import { toAppError } from "../errors/app-error.ts";
import { parseConfig, readEnvironment } from "../server/start/config.ts";
import { openDatabase } from "../server/start/open-stores.ts";
import { migrate } from "../stores/postgres/database/migrate.ts";

try {
  const database = await openDatabase(parseConfig(readEnvironment()));
  const applied = await migrate(database);
  console.log(`${database.description}: ${applied.length === 0 ? "nothing to do" : `applied ${applied.join(", ")}`}`);
  await database.close();
} catch (error) {
  console.error(toAppError(error).message);
  process.exitCode = 1;
}
