import { expect, test } from "@jest/globals";
import { makeBoss, QUEUE } from "../../../stores/jobs/pg-boss.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, claimOnly, conversationOf, failJob, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { useRunners } from "./job-runners.ts";

describeOnBothDatabases("jobs whose process died while they ran", (open) => {
  const jobs = useJobs(open);
  const start = useRunners();

  /** What the supervisor of another process does when nobody has touched what runs for a minute. */
  async function takeOver(): Promise<void> {
    const { database } = jobs;
    const boss = makeBoss({ database, onError: () => undefined });
    await boss.start();
    await database.query({ text: "update pgboss.job set heartbeat_on = now() - interval '1 minute' where state = 'active'" });
    await database.query({ text: "update pgboss.queue set monitor_on = null, monitor_claim_on = null, maintain_on = null" });
    await boss.supervise(QUEUE);
    await boss.stop({ graceful: false });
    await database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
  }

  /** A process takes what is due, as the loop does, and dies, so many times. */
  async function die(deaths: number): Promise<void> {
    for (let death = 0; death < deaths; death++) {
      for (const claimed of await jobs.queue.claim(100)) if (claimed.unended > 0) await jobs.queue.keepUnended(claimed);
      await takeOver();
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

  test("are started again after the first and the second death, and count them", async () => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    await die(2);
    expect(await runUntil(1)).toMatchObject({ steps: [job.conversationId], outcomes: ["done"] });
  });

  test("are dead letters after the third, listed with the reason, and run anew, with as many lives, when somebody asks for it", async () => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    await die(3);
    const { steps, outcomes, runner } = await runUntil(1);
    expect({ steps, outcomes }).toEqual({ steps: [], outcomes: ["failed"] });
    expect(await jobs.overview.listDead(10, null)).toMatchObject([
      { job, failure: { code: "internal_error", message: expect.stringContaining("held it up 3 times") } },
    ]);
    await runner.stop();
    expect(await jobs.queue.claim(10)).toEqual([]);
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

  test("that only waited beside the one that ended it are not dead letters with it", async () => {
    const [job, innocent] = [sampleJob(), sampleJob()];
    await addJobs(jobs.queue, job, innocent);
    await die(2);
    // From here on suspects run one at a time: the first ends the process before the second has begun.
    const first = (await jobs.queue.claim(100)).find((claimed) => conversationOf(claimed) === job.conversationId);
    if (first) await jobs.queue.keepUnended(first);
    await takeOver();
    const { steps, outcomes } = await runUntil(2);
    expect(steps).toEqual([innocent.conversationId]);
    expect(outcomes.sort()).toEqual(["done", "failed"]);
  });
});
