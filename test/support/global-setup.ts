import { mkdtemp, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createPGlite } from "../../stores/postgres/database/create-pglite.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { migrate } from "../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { bundleService } from "../../scripts/bundle.ts";
import { TEMPLATE_DATABASE, withDatabase } from "../servers/database-url.ts";
import { type PostgresServer, startPostgresServer } from "../servers/postgres-server.ts";

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

/** A data folder of an embedded database, migrated, that tests load instead of creating their own (4 s each). */
async function createSnapshot(folder: string): Promise<string> {
  const dataDir = path.join(folder, "snapshot");
  const database = await openEmbeddedPostgres(dataDir);
  await migrate(database);
  await database.close();
  const pglite = await createPGlite(path.join(dataDir, "postgres"), {});
  const file = path.join(folder, "snapshot.tar");
  await writeFile(file, Buffer.from(await (await pglite.dumpDataDir("none")).arrayBuffer()));
  await pglite.close();
  return file;
}

/**
 * Makes what all test files share, once: the service as it is built, a real Postgres (or the one of TEST_DATABASE_URL) with a migrated
 * template database, and the snapshot of a migrated embedded one. Test files learn of the databases from the environment.
 */
export default async function globalSetup(): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-test-"));
  const given = process.env["TEST_DATABASE_URL"];
  const isBuilt = process.env["npm_lifecycle_event"] === "test"; // `npm test` builds before it begins
  const [postgres] = await Promise.all([given ? undefined : startPostgresServer(), isBuilt ? undefined : bundleService({ write: true })]);
  globalThis.testServers = { postgres, folder };
  const serverUrl = given ?? postgres?.url ?? "";
  // One after the other: PGlite starts without letting go of the event loop, on a busy machine for longer than a query may take.
  await createTemplate(serverUrl);
  process.env["TEST_SERVER_URL"] = serverUrl;
  process.env["TEST_SNAPSHOT"] = await createSnapshot(folder);
}
