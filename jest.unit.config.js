import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import everything from "./jest.config.js";

const { globalSetup: _setUp, globalTeardown: _tearDown, testPathIgnorePatterns: hard, ...settings } = everything;

/** What the global set-up makes, and servers that a test starts itself. */
const OF_THE_SETUP =
  /TEST_SERVER_URL|TEST_SNAPSHOT|"\.\.\/\.\.\/dist\/|IN_MEMORY|"memory:|openEmbeddedPostgres|PGlite|start(?:Milvus|Postgres)/;
const SLOW = ["web", "agents/tools/web-fetch", "memory/documents/parsing"].map((name) => `test/${name}`);

/** Whether a test, or a file of the tests or benchmarks that it imports, needs what is started for all of them. */
function needsSetup(file, seen = new Set()) {
  if (seen.has(file)) return false;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  if (OF_THE_SETUP.test(source)) return true;
  const imported = [...source.matchAll(/from "(\.[^"]+)"/g)].map(([, name]) => path.join(path.dirname(file), name));
  return imported.some((name) => /^(test|benchmarks)\//.test(name) && existsSync(name) && needsSetup(name, seen));
}

const tests = globSync("test/**/*.test.ts").filter((file) => !SLOW.some((slow) => file.startsWith(slow)) && !needsSetup(file));

/** The tests that start no server and no database: what `npm run check` runs, in seconds. They wait less than others, so fewer run at once. */
export default { ...settings, maxWorkers: 3, testMatch: tests.map((file) => `<rootDir>/${file}`), testPathIgnorePatterns: hard };
