import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { installJobQueue } from "../../../stores/jobs/pg-boss.ts";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { migrate } from "../../../stores/postgres/database/migrate.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createEmptyDatabase, createRealDatabase, describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, claimOnly, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

function unexpected(error: unknown): void {
  throw error;
}

describeOnBothDatabases("a watched job queue", (open) => {
  const at = useJobs(open);
  let calls = 0;
  let stop: (() => Promise<void>) | undefined;
  beforeEach(async () => {
    stop = await at.queue.watch(() => void calls++, unexpected);
    await waitUntil("the first call", () => calls > 0);
    calls = 0;
  });
  afterEach(() => stop?.());

  test("calls when a job is committed, and not before", async () => {
    await makeJobQueue(at.database).transaction(async (_transaction, jobs) => {
      await jobs.add([sampleJob()]);
      await sleep(200);
      expect(calls).toBe(0);
    });
    await waitUntil("the call after the commit", () => calls > 0);
  });

  test("calls no more when the watch has ended", async () => {
    await stop?.();
    stop = undefined;
    calls = 0;
    await at.add(sampleJob());
    await sleep(200);
    expect(calls).toBe(0);
  });

  test("takes over the job of a process that died, with its place in time, and no job that is touched", async () => {
    const [left, kept] = [sampleJob(), sampleJob()];
    await at.add(left);
    const dead = await at.claimOnly();
    await at.add(kept);
    const alive = await at.claimOnly();
    const touching = setInterval(() => void at.queue.touch([alive]), 2_000);
    const again = await waitUntil("the job is due again", async () => (await at.queue.claim(10))[0], 60_000);
    clearInterval(touching);
    expect(again).toMatchObject({ id: dead.id, job: left, createdAt: dead.createdAt });
    expect(await at.queue.touch([dead])).toEqual([]);
    expect(await at.queue.touch([again, alive])).toEqual([again, alive]);
  }, 90_000);
});

test("a watched job queue calls for what another process has committed", async () => {
  const { url, drop } = await createRealDatabase();
  const [here, there] = [await openPostgres(url), await openPostgres(url)];
  let calls = 0;
  const stop = await makeJobQueue(here).watch(() => void calls++, unexpected);
  await waitUntil("the first call", () => calls > 0);
  calls = 0;
  await addJobs(makeJobQueue(there), sampleJob());
  await waitUntil("the call after the commit elsewhere", () => calls > 0);
  await stop();
  await Promise.all([here.close(), there.close()]);
  await drop();
});

describe("installing the job queue", () => {
  describeOnBothDatabases("again", (open) => {
    const at = useJobs(open);

    test("changes nothing, also several times at once, and keeps the jobs that are there", async () => {
      const { database, queue } = at;
      const [waiting, running] = [sampleJob(), sampleJob()];
      await addJobs(queue, running);
      const claimed = await claimOnly(queue);
      await addJobs(queue, waiting);
      const settings = (): Promise<object[]> =>
        database.query<object>({ text: "select name, policy, notify, retry_limit, dead_letter from pgboss.queue order by name" });
      const before = await settings();
      await installJobQueue(database);
      await Promise.all([installJobQueue(database), installJobQueue(database), installJobQueue(database)]);
      expect(await settings()).toEqual(before);
      expect(await queue.touch([claimed])).toEqual([claimed]);
      expect((await claimOnly(queue)).job).toEqual(waiting);
    });
  });

  test("by several processes at once in a new database leaves one that works", async () => {
    const { url, drop } = await createEmptyDatabase();
    const databases = await Promise.all([1, 2, 3].map(() => openPostgres(url)));
    await Promise.all(databases.map(migrate)); // which makes the schema under its own lock, then installs the queue
    const [database] = databases;
    if (!database) throw new Error("no database was opened");
    const job = sampleJob();
    await addJobs(makeJobQueue(database), job, job);
    expect(await makeJobOverview(database).count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 1 }]);
    await Promise.all(databases.map((opened) => opened.close()));
    await drop();
  });
});
