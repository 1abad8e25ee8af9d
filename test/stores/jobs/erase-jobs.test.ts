import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { makeJobOverview, type JobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue, type JobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { recordStatements } from "../../support/databases/record-statements.ts";
import { addJobs, clearJobs, failJob, killJobs, sampleJob, SAMPLE_FAILURE, type SampleJob } from "../../support/samples/sample-jobs.ts";

describeOnBothDatabases("erasing the jobs of a conversation", (open) => {
  let database: Database;
  let queue: JobQueue;
  let overview: JobOverview;
  beforeAll(async () => {
    database = await open();
    queue = makeJobQueue(database);
    overview = makeJobOverview(database);
  });
  beforeEach(() => clearJobs(database));
  afterAll(() => database.close());

  const erase = (job: SampleJob): Promise<number> => queue.transaction((_transaction, jobs) => jobs.erase(job));

  test.each(["waiting", "running", "retrying", "dead"])("removes a %s job of the conversation and counts it", async (state) => {
    const [job, other] = [sampleJob(), sampleJob()];
    if (state === "dead") await killJobs(queue, [job, other]);
    else await addJobs(queue, job, other);
    const claimed = state === "waiting" ? [] : await queue.claim(2);
    if (state === "retrying") for (const one of claimed) await failJob(queue, one, { retryAfterSeconds: 0 });
    expect(await overview.count(null)).toEqual([{ kind: "summarise", state, count: 2 }]);
    expect(await erase(job)).toBe(1);
    expect(await overview.count(null)).toEqual([{ kind: "summarise", state, count: 1 }]);
    expect(await erase(job)).toBe(0);
    expect(await erase(other)).toBe(1);
  });

  test("counts a waiting job and the dead letter of the same work as two", async () => {
    const job = sampleJob();
    await killJobs(queue, [job], SAMPLE_FAILURE);
    await addJobs(queue, job);
    expect(await erase(job)).toBe(2);
    expect(await overview.count(null)).toEqual([]);
  });

  test("takes one statement, and nothing of a conversation that is said to be another's", async () => {
    const job = sampleJob();
    await killJobs(queue, [job]);
    await addJobs(queue, job);
    const { database: recorded, statements } = recordStatements(database);
    await makeJobQueue(recorded).transaction(async (_transaction, jobs) => {
      for (const other of [{ userId: "other" }, { tenantId: "other" }]) expect(await jobs.erase({ ...job, ...other })).toBe(0);
      statements.splice(0);
      expect(await jobs.erase(job)).toBe(2);
      expect(statements).toHaveLength(1);
    });
  });

  test("of a conversation without jobs is nothing", async () => {
    expect(await erase(sampleJob())).toBe(0);
  });
});
