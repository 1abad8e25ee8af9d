import { readFile } from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../stores/jobs/job-queue.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { createDataFolder } from "../servers/data-folder.ts";
import { useTestPostgres } from "../support/databases/databases.ts";
import { openTestService } from "../support/services/service.ts";
import { runScript } from "../support/run-script.ts";
import { addJobs, clearJobs, killJobs, sampleJob, SAMPLE_FAILURE } from "../support/samples/sample-jobs.ts";

const OWNER = { tenantId: "default", userId: "ada" };

test.each([
  ["audit", [], /npm run audit -- --user ID/],
  ["audit", ["--user", ""], /npm run audit -- --user ID/],
  ["audit", ["ada"], /npm run audit -- --user ID/],
  ["audit", ["--user", "ada", "--colour", "red"], /npm run audit -- --user ID/],
  ["export", [], /npm run export -- FILE/],
  ["export", ["a", "b"], /npm run export -- FILE/],
  ["export", ["a", "--user", ""], /npm run export -- FILE/],
  ["export", ["a", "--colour", "red"], /npm run export -- FILE/],
  ["ingest", [], /npm run ingest -- KB FOLDER/],
  ["ingest", ["handbook"], /npm run ingest -- KB FOLDER/],
  ["ingest", ["handbook", "x", "y"], /npm run ingest -- KB FOLDER/],
  ["ingest", ["handbook", "x", "--colour", "red"], /npm run ingest -- KB FOLDER/],
  ["models", ["tets"], /npm run models -- test \[NAME\]/],
  ["models", ["test", "a", "b"], /npm run models -- test \[NAME\]/],
  ["reindex", ["--drop"], /npm run reindex -- --drop-old/],
  ["restore", [], /npm run restore -- FILE/],
  ["restore", ["a", "b"], /npm run restore -- FILE/],
  ["restore", ["a", "--user", "ada"], /npm run restore -- FILE/],
])("npm run %s with %j ends with status 1 and says how it is used, without a look at the database", async (name, words, says) => {
  const ended = await runScript(name, words, { DATABASE_URL: "postgres://nobody@127.0.0.1:9/none" });
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(says) as unknown });
});

test.each([
  ["audit", /npm run audit -- --user ID/],
  ["chat", /npm run chat \[-- --user ID\]/],
  ["export", /npm run export -- FILE/],
  ["ingest", /npm run ingest -- KB FOLDER/],
  ["jobs", /npm run jobs -- retry \[KIND\]/],
  ["mcp", /npx conversation-graph mcp \[--user ID\]/],
  ["migrate", /npm run migrate/],
  ["models", /npm run models -- test \[NAME\]/],
  ["reindex", /npm run reindex -- --drop-old/],
  ["restore", /npm run restore -- FILE/],
])(
  "npm run %s -- --help says how it is used and ends with status 0, and an unknown option says the same with status 1 and no stack",
  async (name, says) => {
    expect(await runScript(name, ["--help"])).toEqual({ code: 0, stdout: expect.stringMatching(says), stderr: "" });
    const refused = await runScript(name, ["--nonsense"]);
    expect(refused).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(says) });
    expect(refused.stderr).not.toMatch(/^ {4}at /m);
  },
);

describe("on a real Postgres", () => {
  const database = useTestPostgres();
  const run = (name: string, ...words: string[]) => runScript(name, words, { DATABASE_URL: database.url });

  test("npm run audit lists with status 2 what every store holds of a user, and after an erase finds nothing with status 0", async () => {
    await makeCoreMemoryStore(database).put(OWNER, { section: "profile", content: "Lives in Porto." });
    const places = ["core_memory_lines", "core_memory_sections", "core_memory_versions", "memory_operations"];
    const listed = [...places.map((table) => `public.${table}: 1`), '4 places hold something of user "ada"', ""].join("\n");
    expect(await run("audit", "--user", "ada")).toMatchObject({ code: 2, stdout: listed });
    expect((await run("audit", "--user", "ada", "--tenant", "other")).stdout).toBe('nothing of user "ada"\n');
    await makeEraseStore(database).user(OWNER);
    expect(await run("audit", "--user", "ada")).toMatchObject({ code: 0, stdout: 'nothing of user "ada"\n' });
  });

  test("npm run audit says that it has not looked into a Milvus that is not configured, with status 1", async () => {
    const add = `insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at, left_at)
      values ('episodes_left', 'episodes', 'leaving episodes_left', 'milvus', 'e', 8, now(), now())`;
    await database.query({ text: add });
    const looked = await run("audit", "--user", "nobody");
    await database.query({ text: "delete from search_indexes where name = 'episodes_left'" });
    expect(looked).toMatchObject({ code: 1, stdout: "" });
    expect(looked.stderr).toMatch(/episodes_left in Milvus.*MILVUS_ADDRESS/);
  });

  test("npm run jobs counts jobs, and lists those that failed for good with their errors", async () => {
    expect((await run("jobs")).stdout).toBe("no jobs\n");
    const [dead, waiting] = [sampleJob(), sampleJob()];
    await killJobs(makeJobQueue(database), [dead]);
    await addJobs(makeJobQueue(database), waiting);
    const lines = (await run("jobs")).stdout.trimEnd().split("\n");
    expect(lines.slice(0, 2)).toEqual(["summarise dead: 1", "summarise waiting: 1"]);
    expect(lines[2]).toMatch(/^dead since \d{4}-\S+Z after 2 attempts: summarise\//);
    expect(lines[2]).toContain(`${dead.conversationId}: ${SAMPLE_FAILURE.message}`);
    expect(lines).toHaveLength(3);
  });

  test.each([[[]], [["summarise"]]])("npm run jobs -- retry %j puts the dead jobs back, and says how many there were", async (kind) => {
    await clearJobs(database);
    await killJobs(makeJobQueue(database), [sampleJob(), sampleJob()]);
    expect((await run("jobs", "retry", ...kind)).stdout).toBe("2 jobs will run again\n");
    expect(await makeJobOverview(database).count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 2 }]);
  });

  test.each([[["retry", "dreams"]], [["rety"]]])("npm run jobs -- %j ends with status 1 and says which words it knows", async (words) => {
    const says = expect.stringMatching(/npm run jobs -- retry \[KIND\].*summarise/s) as unknown;
    expect(await run("jobs", ...words)).toMatchObject({ code: 1, stderr: says });
  });

  test("npm run migrate migrates the database of DATABASE_URL, and says so", async () => {
    expect((await run("migrate")).stdout).toMatch(/^Postgres at 127\.0\.0\.1:\d+\/test_\w+: nothing to do\n$/);
  });
});

test("npm run jobs ends with status 1 and one clear line while a service has the embedded database", async () => {
  const { folder, remove } = await createDataFolder();
  const service = await openEmbeddedPostgres(folder);
  const refused = await runScript("jobs", [], { DATA_DIR: folder });
  expect(refused).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(new RegExp(`^[^\\n]*${folder}[^\\n]*\\n$`)) });
  await service.close();
  await remove();
});

test("npm run jobs asks the service that has the embedded database, with the service's key", async () => {
  const { folder, remove } = await createDataFolder();
  const environment = { DATA_DIR: folder, API_KEYS: "only-reads:default:read,a-long-key:default", ENABLE_EPISODIC_MEMORY: "false" };
  const service = await openTestService(environment);
  expect(await runScript("jobs", [], environment)).toEqual({ code: 0, stdout: "no jobs\n", stderr: "" });
  expect((await runScript("jobs", ["retry", "summarise"], environment)).stdout).toBe("0 jobs will run again\n");
  await service.close();
  expect((await runScript("jobs", [], environment)).stdout).toBe("no jobs\n");
  await remove();
});

test("npm run audit and npm run export --user ask the service that has the embedded database, with a key of the tenant", async () => {
  const { folder, remove } = await createDataFolder();
  const environment = { DATA_DIR: folder, API_KEYS: "only-reads:default:read,a-long-key:acme:admin", ENABLE_EPISODIC_MEMORY: "false" };
  const service = await openTestService(environment);
  await fetch(`${service.url}/api/v1/users/a%2Fda/core-memory/profile`, {
    method: "PUT",
    headers: { "content-type": "application/json", authorization: "Bearer a-long-key" },
    body: JSON.stringify({ content: "Lives in Porto." }),
  });
  const file = path.join(folder, "ada.jsonl.gz");
  const run = (name: string, ...words: string[]) => runScript(name, words, environment);
  const audited = await run("audit", "--user", "a/da", "--tenant", "acme");
  expect(audited).toMatchObject({
    code: 2,
    stderr: "",
    stdout: expect.stringMatching(/^public\.core_memory_lines: 1\n.*\n4 places hold/s) as unknown,
  });
  expect(await run("audit", "--user", "a/da")).toEqual({ code: 0, stderr: "", stdout: 'nothing of user "a/da"\n' });
  const exported = await run("export", file, "--user", "a/da", "--tenant", "acme");
  expect(exported).toEqual({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(/^4 rows of the service at http:\S+ in .*ada\.jsonl\.gz/) as unknown,
  });
  expect(gunzipSync(await readFile(file)).toString()).toContain("Lives in Porto.");
  const nothing = await run("export", `${file}2`, "--user", "a/da");
  expect(nothing).toEqual({ code: 1, stdout: "", stderr: 'There is nothing of user "a/da" of tenant "default". No file was written.\n' });
  for (const words of [["audit"], ["export", `${file}2`]]) {
    const refused = await run(...(words as [string]), "--user", "a/da", "--tenant", "other");
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^The service at \S+ has the database, and API_KEYS has no key of the tenant "other"\. [^\n]+\n$/,
      ) as unknown,
    });
  }
  await service.close();
  await remove();
});

test("npm run migrate applies every migration to a new embedded database", async () => {
  const { stdout } = await runScript("migrate", [], { DATA_DIR: "memory://" });
  expect(stdout).toMatch(/^embedded PGlite in memory: applied 0001_schema\.sql/);
});

test("npm run migrate ends with status 1 and one clear line when the database cannot be reached", async () => {
  const { code, stderr } = await runScript("migrate", [], { DATABASE_URL: "postgres://nobody:secret@127.0.0.1:9/none" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^Postgres at 127\.0\.0\.1:9\/none cannot be used \(ECONNREFUSED\)[^\n]*\n$/);
});
