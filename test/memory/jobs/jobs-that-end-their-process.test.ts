import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { queryRow } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, claimOnly, conversationOf, failJob, sampleJob, type SampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { takeOver, useRunners } from "./job-runners.ts";

describeOnBothDatabases("jobs whose process died while they ran", (open) => {
  const jobs = useJobs(open);
  const start = useRunners();

  /** A process takes what is due, as the loop does, and dies, so many times. */
  async function die(deaths: number): Promise<void> {
    for (let death = 0; death < deaths; death++) {
      for (const claimed of await jobs.queue.claim(100)) if (claimed.unended > 0) await jobs.queue.keepUnended(claimed);
      await takeOver(jobs.database);
    }
  }

  /** Runs until so many runs have ended. */
  async function runUntil(count: number) {
    const steps: string[] = [];
    const runner = await start(jobs.queue, {
      step: async (id) => void steps.push(id),
      remaining: async (_transaction, _job, failed) => (failed ? "more" : "nothing"),
    });
    await waitUntil(`${count} runs`, () => runner.runs.length === count);
    return { steps, outcomes: runner.outcomes(), runner };
  }

  const dayOld = () => jobs.database.query({ text: "update pgboss.job set created_on = now() - interval '23 hours 30 minutes'" });
  const dueAgain = () => jobs.database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
  const minutesUntilDue = async (): Promise<number> => {
    const text = "select extract(epoch from start_after - now())::float8 / 60 as minutes from pgboss.job where state = 'retry'";
    return (await queryRow<{ minutes: number }>(jobs.database, { text })).minutes;
  };

  test.each([1, 2, 3, 4])("are started again after %i deaths, and count them", async (deaths) => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    await die(deaths);
    expect(await runUntil(1)).toMatchObject({ steps: [job.conversationId], outcomes: ["done"] });
  });

  test("wait for an hour after the fifth, listed with the reason, and then run alone", async () => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    await die(5);
    const { steps, outcomes, runner } = await runUntil(1);
    expect({ steps, outcomes }).toEqual({ steps: [], outcomes: ["failed"] });
    expect(await jobs.overview.listOf(job)).toMatchObject([
      { state: "retrying", failure: { code: "internal_error", message: expect.stringContaining("tried again, alone, in an hour") } },
    ]);
    expect(Math.round(await minutesUntilDue())).toBe(60);
    await runner.stop();
    await dueAgain();
    expect(await runUntil(1)).toMatchObject({ steps: [job.conversationId], outcomes: ["done"] });
  });

  test("are dead letters when they die once more after a day, and run anew, with as many lives, when somebody asks for it", async () => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    await die(5);
    await dayOld();
    const { runner } = await runUntil(1);
    await runner.stop();
    expect(await jobs.overview.listDead(10, null)).toEqual([]);
    await dueAgain();
    await die(1);
    expect(await jobs.overview.listDead(10, null)).toEqual([]);
    await runUntil(1);
    expect(await jobs.overview.listDead(10, null)).toMatchObject([
      {
        job: expect.objectContaining(job),
        failure: { message: expect.stringMatching(/ran alone, and its process died or was held up, 3 times\.$/) },
      },
    ]);
    expect(await jobs.overview.retryDead({ tenantId: null })).toBe(1);
    expect(await claimOnly(jobs.queue)).toMatchObject({ job, unended: 0 });
  });

  test("are not counted when they fail or are handed back, however often", async () => {
    await addJobs(jobs.queue, sampleJob());
    for (let attempt = 0; attempt < 4; attempt++) {
      const claimed = await claimOnly(jobs.queue);
      expect(claimed.unended).toBe(0);
      await failJob(jobs.queue, claimed, { retryAfterSeconds: 0 });
    }
  });

  test("do not count deaths of a job that ran alone while they waited in line", async () => {
    const [job, innocent] = [sampleJob(), sampleJob()];
    await addJobs(jobs.queue, job, innocent);
    await die(2);
    for (let death = 0; death < 3; death++) {
      const first = (await jobs.queue.claim(100)).find((claimed) => conversationOf(claimed) === job.conversationId);
      if (first) await jobs.queue.keepUnended(first);
      await takeOver(jobs.database);
    }
    const { steps, outcomes } = await runUntil(2);
    expect(steps).toEqual([innocent.conversationId]);
    expect(outcomes.sort()).toEqual(["done", "failed"]);
  });

  test("run alone after two deaths: when the others at work have ended, and none begins beside them", async () => {
    const [first, second] = [sampleJob(), sampleJob()];
    await addJobs(jobs.queue, first, second);
    await die(2);
    const [beside, later] = [sampleJob(), sampleJob()];
    await addJobs(jobs.queue, beside);
    const steps: string[] = [];
    const gate = Promise.withResolvers<void>();
    let atWork = 0;
    let most = 0;
    const runner = await start(jobs.queue, {
      async step(id) {
        steps.push(id);
        most = Math.max(most, ++atWork);
        if (id === beside.conversationId) await gate.promise;
        else await sleep(300);
        atWork--;
      },
    });
    await waitUntil("the job beside them has begun", () => steps.length > 0);
    await addJobs(jobs.queue, later);
    await sleep(500);
    gate.resolve();
    await waitUntil("all have run", () => runner.runs.length === 4);
    const ids = (...those: SampleJob[]): string[] => those.map(({ conversationId }) => conversationId).sort();
    expect([steps.slice(0, 1), steps.slice(1, 3).sort(), steps.slice(3)]).toEqual([ids(beside), ids(first, second), ids(later)]);
    expect(most).toBe(1);
  });
});
