import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { installJobQueue } from "../../../stores/postgres/database/pg-boss.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { describeOnBothDatabases, openTestPostgres } from "../../support/databases/databases.ts";
import { addJobs, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
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
    await stop?.();
    await at.database.query({ text: "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 minute'" }); // last heard of long ago
    expect(await at.queue.touch([alive])).toEqual([alive]);
    stop = await at.queue.watch(() => undefined, unexpected);
    const again = await waitUntil("the job is due again", async () => (await at.queue.claim(10))[0]);
    expect(again).toMatchObject({ id: dead.id, job: left, createdAt: dead.createdAt });
    expect(await at.queue.touch([dead])).toEqual([]);
    expect(await at.queue.touch([again, alive])).toEqual([again, alive]);
  });
});

test("a watched job queue calls for what another process has committed", async () => {
  const here = await openTestPostgres();
  const there = await openPostgres(here.url);
  let calls = 0;
  const stop = await makeJobQueue(here).watch(() => void calls++, unexpected);
  await waitUntil("the first call", () => calls > 0);
  calls = 0;
  await addJobs(makeJobQueue(there), sampleJob());
  await waitUntil("the call after the commit elsewhere", () => calls > 0);
  await stop();
  await there.close();
  await here.close();
});

describeOnBothDatabases("installing the job queue again", (open) => {
  const at = useJobs(open);

  test("changes nothing, also several times at once, and keeps the jobs that are there", async () => {
    const { database, queue } = at;
    const [waiting, running] = [sampleJob(), sampleJob()];
    await at.add(running);
    const claimed = await at.claimOnly();
    await at.add(waiting);
    const text = "select name, policy, notify, retry_limit, dead_letter from pgboss.queue order by name";
    const before = await database.query({ text });
    await installJobQueue(database);
    await Promise.all([installJobQueue(database), installJobQueue(database), installJobQueue(database)]);
    expect(await database.query({ text })).toEqual(before);
    expect(await queue.touch([claimed])).toEqual([claimed]);
    expect((await at.claimOnly()).job).toEqual(waiting);
  });
});
