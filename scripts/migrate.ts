import { toAppError } from "../errors/app-error.ts";
import { parseConfig } from "../server/config.ts";
import { openDatabase } from "../server/open-graph.ts";
import { readEnvironment } from "../server/read-environment.ts";
import { migrate } from "../stores/postgres/migrate.ts";

try {
  const database = await openDatabase(parseConfig(readEnvironment()));
  const applied = await migrate(database);
  console.log(`${database.description}: ${applied.length === 0 ? "nothing to do" : `applied ${applied.join(", ")}`}`);
  await database.close();
} catch (error) {
  console.error(toAppError(error).message);
  process.exitCode = 1;
}
