import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { createDataFolder } from "../servers/data-folder.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { postJson } from "../support/clients/api-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { BIN, startFile } from "../support/run-script.ts";
import { importedTurns, openServiceWithEpisodes } from "../support/services/service-with-episodes.ts";
import { openTestService } from "../support/services/service.ts";

type Environment = Record<string, string>;
const TIMES = Number(process.env["TIMES"] ?? 3);

let opened: AsyncDisposableStack;
beforeEach(() => {
  opened = new AsyncDisposableStack();
});
afterEach(() => opened.disposeAsync());

async function openReal(): Promise<string> {
  const { url, drop } = await createRealDatabase();
  opened.defer(drop);
  return url;
}

/** Runs a file; it must succeed and print this. */
async function once(command: readonly string[], environment: Environment, printed: RegExp, input?: string): Promise<void> {
  const { code, stdout, stderr } = await startFile(command, environment, input).ended;
  expect({ code, printed: stdout + stderr }).toEqual({ code: 0, printed: expect.stringMatching(printed) });
}

async function manyTimes(...command: Parameters<typeof once>): Promise<void> {
  for (let time = 1; time <= TIMES; time++) await once(...command);
}

async function countConnections(url: string): Promise<number> {
  const database = await openPostgres(url);
  const text = "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
  return (await database.query({ text }).finally(() => database.close())).length;
}

test("migrate, jobs and audit work beside a service again and again and leave no connection, and chat goes on with its conversation", async () => {
  const url = await openReal();
  const service = await openTestService({ DATABASE_URL: url });
  opened.defer(() => service.close());
  const before = await countConnections(url);
  const environment = { DATABASE_URL: url, ENABLE_EPISODIC_MEMORY: "false" };
  await Promise.all([
    manyTimes([BIN, "migrate"], environment, /: nothing to do\n$/),
    manyTimes([BIN, "jobs"], environment, /^no jobs\n$|^summarise (waiting|running): 1\n$/),
    manyTimes([BIN, "audit", "--user", "nobody"], environment, /^nothing of user "nobody"\n$/),
    manyTimes([BIN, "chat", "--url", service.url, "--user", "ada"], {}, /offline model/, "Hello!\n"),
  ]);
  const { json } = await service.get("/api/v1/conversations?user_id=ada");
  expect(json).toMatchObject({ conversations: [{ message_count: 2 * TIMES }] });
  expect(await countConnections(url)).toBeLessThanOrEqual(Math.max(before, 12));
});

test("export writes each time what a running service has by then, and restore brings it into an empty database", async () => {
  const url = await openReal();
  const service = await openTestService({ DATABASE_URL: url });
  opened.defer(() => service.close());
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-exports-"));
  opened.defer(() => rm(folder, { recursive: true }));
  for (let time = 1; time <= TIMES; time++) {
    const { status } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: `Message ${time}` });
    expect(status).toBe(200);
    const file = path.join(folder, `${time}.jsonl.gz`);
    await once([BIN, "export", file], { DATABASE_URL: url }, /\n\d+ rows of .*\.jsonl\.gz, /);
    const empty = await createRealDatabase();
    const restore = once([BIN, "restore", file], { DATABASE_URL: empty.url }, new RegExp(`\\nmessages: ${2 * time}\\n`));
    await restore.finally(empty.drop);
  }
}, 600_000);

test("ingest and reindex, run again and again, leave one document, and the service that opens the new index finds what was said", async () => {
  const { folder, remove } = await createDataFolder();
  opened.defer(remove);
  const documents = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-documents-"));
  opened.defer(() => rm(documents, { recursive: true }));
  await writeFile(path.join(documents, "hotels.md"), "# Hotels\n\nThe limit in Lisbon is 140 euros.");
  const before = await openServiceWithEpisodes({ DATA_DIR: folder });
  const { conversation_id: id } = await before.bring("ada", importedTurns([["My boat is called Calypso.", "Noted."]]));
  await before.settle(id);
  await manyTimes([BIN, "ingest", "handbook", documents, "--url", before.url], {}, /1 documents? in "handbook", 0 failed/);
  expect(await makeKnowledgeClient(before.url).list("handbook")).toEqual([expect.objectContaining({ status: "indexed" })]);
  await before.close();

  const environment = { DATA_DIR: folder, ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in" };
  await manyTimes([BIN, "reindex"], environment, /\n1 episodes indexed, built-in/);
  const after = await openServiceWithEpisodes({ DATA_DIR: folder });
  opened.defer(() => after.close());
  const found = await after.episodes("ada", { query: "boat" });
  expect(found.json).toMatchObject({ episodes: [{ user_message: "My boat is called Calypso." }], degraded: [] });
}, 900_000);

test("the command of the package shows its help, migrates and serves one conversation again and again, with exit code 0 each time", async () => {
  const environment = { DATABASE_URL: await openReal() };
  opened.defer(killServiceProcesses);
  await Promise.all([
    manyTimes([BIN, "--help"], {}, /^conversation-graph \d+\.\d+\.\d+: .*`reindex .*`restore FILE`/s),
    manyTimes([BIN, "migrate"], environment, /: nothing to do\n$/),
    (async () => {
      for (let time = 1; time <= TIMES; time++) {
        const service = await startServiceProcess(environment, BIN);
        const { status } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "Hello!" });
        expect(status).toBe(200);
        const listed = await fetch(`${service.url}/api/v1/conversations?user_id=ada`);
        expect(await listed.json()).toMatchObject({ conversations: [{ message_count: 2 * time }] });
        service.kill("SIGTERM");
        expect({ code: await service.exited, output: service.output() }).toEqual({ code: 0, output: expect.stringContaining('"stopped"') });
      }
    })(),
  ]);
}, 600_000);
