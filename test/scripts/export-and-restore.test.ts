import { readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { callApi } from "../support/clients/api-client.ts";
import { createDataFolder } from "../servers/data-folder.ts";
import { createEmptyDatabase, createRealDatabase } from "../support/databases/databases.ts";
import { createExportFolder, parseLines, readExport, rowLines, type ExportFolder } from "../stores/postgres/export/export-files.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { runScript } from "../support/run-script.ts";
import { coreMemoryApi } from "../support/services/service-with-core-memory.ts";
import { openTestService } from "../support/services/service.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { conversationApi, importedTurns, openServiceWithEpisodes } from "../support/services/service-with-episodes.ts";
import { storeExchange } from "../support/samples/user-with-memory.ts";

type Environment = Record<string, string>;
const exportTo = (file: string, environment: Environment, ...words: string[]) => runScript("export", [file, ...words], environment);
const restore = (file: string, environment: Environment) => runScript("restore", [file], environment);
const refusal = (says: string | RegExp) => ({ code: 1, stderr: expect.stringMatching(says) as unknown });

const WITH_EPISODES = { ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000" };
const TURNS = importedTurns([
  ["My boat is called 卡吕普索 ⛵.", "A fine name."],
  ["我最喜欢的电影是《索拉里斯》。", "记住了。"],
]);

async function findAll(url: string) {
  const get = async (route: string) => (await callApi<Record<string, unknown>>(`${url}/api/v1/${route}`)).json;
  const { conversations } = (await get("conversations?user_id=ada")) as { conversations: { id: string }[] };
  return {
    conversations,
    messages: await Promise.all(conversations.map(({ id }) => get(`conversations/${id}/messages?limit=200`))),
    summaries: await Promise.all(conversations.map(({ id }) => get(`conversations/${id}/summary`))),
    sections: await get("users/ada/core-memory"),
    history: await get("users/ada/core-memory/goals/history"),
    operations: await get("users/ada/memory-operations"),
    knowledge: await get("knowledge"),
  };
}

describe("npm run export and npm run restore", () => {
  let folder: ExportFolder;
  beforeAll(async () => {
    folder = await createExportFolder();
  });
  afterEach(() => killServiceProcesses());
  afterAll(() => folder.remove());

  test("carry everything from the embedded database to a Postgres and back, with nothing lost, changed or read twice", async () => {
    const early = { SUMMARY_MIN_MESSAGES: "2", SUMMARY_UPDATE_DELTA: "1", HISTORY_WINDOW: "0" };
    const source = await openServiceWithEpisodes({ ...WITH_EPISODES, ...early });
    const back = await createDataFolder({ migrated: false });
    const real = await createEmptyDatabase();
    try {
      const { conversation_id: id } = await source.bring("ada", TURNS);
      await source.say("ada", "I live in 里斯本.");
      for (const content of ["To sail.", "To sail to 澳门 🚢."]) await coreMemoryApi(source.url).write("ada", "goals", content);
      const knowledge = makeKnowledgeClient(source.url);
      await knowledge.put("travel", { description: "Journeys" });
      await knowledge.add("travel", { title: "Lisbon", text: "Trams climb the hills of Lisbon." });
      await knowledge.settled("travel");
      expect((await source.settle(id)).settled).toBe(true);
      const found = await findAll(source.url);
      const passages = async (url: string) => (await makeKnowledgeClient(url).list("travel")).map(({ id, status }) => ({ id, status }));
      const documents = await passages(source.url);
      await source.service.close();

      const [first, second, third] = [folder.at("first.jsonl.gz"), folder.at("second.jsonl.gz"), folder.at("third.jsonl.gz")];
      const exported = await exportTo(first, { DATA_DIR: source.folder });
      expect(exported.stderr).toMatch(/100 % {2}(\d+) of \1 rows/);
      expect(exported.stdout).toMatch(/\d+ rows of embedded PGlite in .* in .*first\.jsonl\.gz, \d+\.\d MB, \d+ s\n$/);
      expect((await stat(first)).mode & 0o777).toBe(0o600);

      const restored = await restore(first, { DATABASE_URL: real.url });
      expect(restored.stderr).toMatch(/MB checked.*100 % {2}(\d+) of \1 rows/s);
      expect(restored.stdout).toMatch(/^\nconversations: 2\nmessages: 6\n[^]*restored into Postgres at /);
      await exportTo(second, { DATABASE_URL: real.url });
      expect(await rowLines(second)).toEqual(await rowLines(first));

      await restore(second, { DATA_DIR: back.folder });
      await exportTo(third, { DATA_DIR: back.folder });
      expect(await rowLines(third)).toEqual(await rowLines(first));

      const onPostgres = await openTestService({ DATABASE_URL: real.url });
      expect(await findAll(onPostgres.url)).toEqual(found);
      expect(await passages(onPostgres.url)).toEqual(documents);
      await onPostgres.close();

      const embedded = await openTestService({ ...WITH_EPISODES, DATA_DIR: back.folder });
      const { episodes, settle } = conversationApi(embedded.url);
      await settle(id);
      expect(await findAll(embedded.url)).toEqual(found);
      const { json } = await episodes("ada", { query: "What is my boat called?" });
      expect(json.episodes[0]?.user_message).toContain("卡吕普索 ⛵");
      await embedded.close();
    } finally {
      await source.close().catch(() => undefined);
      await back.remove();
      await real.drop();
    }
  });

  test("export one moment of a Postgres while a service runs on it and turns go on", async () => {
    const real = await createRealDatabase();
    const service = await startServiceProcess({ DATABASE_URL: real.url });
    const database = await openPostgres(real.url);
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) await storeExchange(database, { tenantId: "acme", userId: "ada" }, `session ${Math.random()}`, "leeks");
    })();
    try {
      const file = folder.at("busy.jsonl.gz");
      await exportTo(file, { DATABASE_URL: real.url });
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      const lines = parseLines(await readExport(file));
      const rowsOf = (kind: string) => lines.filter((line) => line.kind === kind).map(({ row }) => row);
      const counted = rowsOf("conversations").reduce((sum, row) => sum + Number(row["message_count"]), 0);
      expect(counted).toBeGreaterThan(0);
      expect(rowsOf("messages")).toHaveLength(counted);
    } finally {
      isWriting = false;
      await writing;
      await database.close();
      service.kill("SIGTERM");
      await service.exited;
      await real.drop();
    }
  });

  test("say that the service whose embedded database they need must stop, and where to get one user's data", async () => {
    const { folder: dataDir, remove } = await createDataFolder();
    const service = await openTestService({ DATA_DIR: dataDir });
    try {
      const busy = refusal(/in use by another process\. Stop the service, .*With --user ID, a running service is asked/);
      expect(await exportTo(folder.at("locked.jsonl.gz"), { DATA_DIR: dataDir })).toMatchObject(busy);
      expect(await restore(folder.at("locked.jsonl.gz"), { DATA_DIR: dataDir })).toMatchObject({ code: 1 });
    } finally {
      await service.close();
      await remove();
    }
  });

  test("export nothing where there is no database, and make no file", async () => {
    for (const DATA_DIR of [folder.at("no-data"), "memory://"]) {
      const exported = await exportTo(folder.at("none.jsonl.gz"), { DATA_DIR });
      expect(exported).toMatchObject(refusal(`There is no database in DATA_DIR "${DATA_DIR}"`));
    }
    expect((await readdir(path.dirname(folder.at("x")))).filter((name) => /^no/.test(name))).toEqual([]);
  });

  test("leave an existing file as it is, and write no file for an unknown user", async () => {
    const { folder: dataDir, remove } = await createDataFolder();
    try {
      const file = folder.at("mine.txt");
      await writeFile(file, "mine");
      expect(await exportTo(file, { DATA_DIR: dataDir })).toMatchObject(refusal("exists already"));
      expect((await stat(file)).size).toBe(4);
      const nobodys = folder.at("nobody.jsonl.gz");
      const exported = await exportTo(nobodys, { DATA_DIR: dataDir }, "--user", "nobody");
      expect(exported).toMatchObject(refusal('There is nothing of user "nobody" of tenant "default"'));
      await expect(stat(nobodys)).rejects.toMatchObject({ code: "ENOENT" });
    } finally {
      await remove();
    }
  });

  test("restore nothing into memory, which would be gone at once", async () => {
    expect(await restore(folder.at("any.jsonl.gz"), { DATA_DIR: "memory://" })).toMatchObject(refusal("keeps nothing"));
  });
});
