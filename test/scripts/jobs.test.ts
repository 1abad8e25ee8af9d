import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../stores/jobs/job-queue.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { createDataFolder } from "../servers/data-folder.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { addJobs, clearJobs, killJobs, sampleJob, SAMPLE_FAILURE } from "../support/samples/sample-jobs.ts";

const run = promisify(execFile);
const JOBS = fileURLToPath(new URL("../../scripts/jobs.ts", import.meta.url));

const jobs = (environment: Record<string, string>, ...words: string[]) =>
  run(process.execPath, [JOBS, ...words], { env: { PATH: process.env["PATH"], ...environment }, cwd: "/" });

describe("npm run jobs", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
  });
  afterAll(async () => {
    await database.close();
    await real.drop();
  });

  test("says so when there are none", async () => {
    expect((await jobs({ DATABASE_URL: real.url })).stdout).toBe("no jobs\n");
  });

  test("lists how many there are, and which failed for good with their error", async () => {
    const [dead, waiting] = [sampleJob(), sampleJob()];
    await killJobs(makeJobQueue(database), [dead]);
    await addJobs(makeJobQueue(database), waiting);
    const lines = (await jobs({ DATABASE_URL: real.url })).stdout.trimEnd().split("\n");
    expect(lines.slice(0, 2)).toEqual(["summarise dead: 1", "summarise waiting: 1"]);
    expect(lines[2]).toMatch(/^dead since \d{4}-\S+Z after 2 attempts: summarise\//);
    expect(lines[2]).toContain(`${dead.conversationId}: ${SAMPLE_FAILURE.message}`);
    expect(lines).toHaveLength(3);
  });

  test.each([[[]], [["summarise"]]])("retry %j puts the dead ones back, and says how many", async (kind) => {
    await clearJobs(database);
    await killJobs(makeJobQueue(database), [sampleJob(), sampleJob()]);
    expect((await jobs({ DATABASE_URL: real.url }, "retry", ...kind)).stdout).toBe("2 jobs will run again\n");
    expect(await makeJobOverview(database).count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 2 }]);
  });

  test.each([[["retry", "dreams"]], [["rety"]]])("%j ends with status 1 and says what can be asked", async (words) => {
    await expect(jobs({ DATABASE_URL: real.url }, ...words)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/npm run jobs -- retry \[KIND\].*summarise/s) as unknown,
    });
  });

  test("ends with status 1 and one clear line while a service has the embedded database", async () => {
    const { folder, remove } = await createDataFolder();
    const service = await openEmbeddedPostgres(folder);
    const refusal = { code: 1, stdout: "", stderr: expect.stringMatching(new RegExp(`^[^\\n]*${folder}[^\\n]*\\n$`)) as unknown };
    await expect(jobs({ DATA_DIR: folder })).rejects.toMatchObject(refusal);
    await service.close();
    await remove();
  });
});
