import { mkdtemp } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { stop } from "esbuild";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { migrate } from "../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { bundleLibrary, bundleService } from "../../scripts/bundle.ts";
import { DATA_FOLDER_PREFIX } from "../servers/data-folder.ts";
import { removeOrphans } from "../servers/orphans.ts";
import { TEMPLATE_DATABASE, withDatabase } from "../servers/database-url.ts";
import { type PostgresServer, startPostgresServer } from "../servers/postgres-server.ts";
import { chooseTestFolder } from "../servers/test-folder.ts";

declare global {
  var testServers: { postgres: PostgresServer | undefined; folder: string } | undefined;
}

async function createTemplate(serverUrl: string): Promise<void> {
  const server = await openPostgres(serverUrl);
  await server.query({ text: `drop database if exists ${TEMPLATE_DATABASE} with (force)` });
  await server.query({ text: `create database ${TEMPLATE_DATABASE}` });
  await server.close();
  const template = await openPostgres(withDatabase(serverUrl, TEMPLATE_DATABASE));
  await migrate(template);
  await template.close();
}

/** A folder for DATA_DIR with a migrated database, which tests copy instead of creating their own (4 s each). */
async function createSnapshot(dataDir: string): Promise<string> {
  const database = await openEmbeddedPostgres(dataDir);
  await migrate(database);
  await database.close();
  return dataDir;
}

/**
 * Makes what all test files share, once: the service and the library as they are built, a real Postgres (or the one of TEST_DATABASE_URL) with a migrated
 * template database, and a folder with a migrated embedded one. Test files learn of the databases from the environment.
 */
export default async function globalSetup(): Promise<void> {
  process.env["TEST_FOLDER"] = await chooseTestFolder();
  await removeOrphans(DATA_FOLDER_PREFIX);
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-test-"));
  const given = process.env["TEST_DATABASE_URL"];
  const isBuilt = /^test(:hard)?$/.test(process.env["npm_lifecycle_event"] ?? ""); // these build before they begin
  const build = (): Promise<unknown> => Promise.all([bundleService({ write: true }), bundleLibrary({ write: true })]);
  const [postgres] = await Promise.all([given ? undefined : startPostgresServer(), isBuilt ? undefined : build()]);
  globalThis.testServers = { postgres, folder };
  const serverUrl = given ?? postgres?.url ?? "";
  await stop(); // it keeps a gigabyte
  // One after the other: PGlite starts without letting go of the event loop, on a busy machine for longer than a query may take.
  await createTemplate(serverUrl);
  process.env["TEST_SERVER_URL"] = serverUrl;
  process.env["TEST_SNAPSHOT"] = await createSnapshot(path.join(folder, "snapshot"));
}
