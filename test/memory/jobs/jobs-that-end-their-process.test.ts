import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue, type JobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeBoss, QUEUE } from "../../../stores/jobs/pg-boss.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { startRunner, stopRunners } from "./job-runners.ts";
import { addJobs, claimOnly, clearJobs, conversationOf, sampleJob, type SampleJob } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

describeOnBothDatabases("jobs whose process died while they ran", (open) => {
  let database: Database;
  let queue: JobQueue;
  let job: SampleJob;
  beforeAll(async () => {
    database = await open();
    queue = makeJobQueue(database);
  });
  afterAll(() => database.close());
  beforeEach(() => void (job = sampleJob()));
  afterEach(async () => {
    await stopRunners();
    await clearJobs(database);
  });

  /** What the supervisor of another process does when nobody has touched what runs for a minute. */
  async function takeOver(): Promise<void> {
    const boss = makeBoss({ database, onError: () => undefined });
    await boss.start();
    await database.query({ text: "update pgboss.job set heartbeat_on = now() - interval '1 minute' where state = 'active'" });
    await database.query({ text: "update pgboss.queue set monitor_on = null, monitor_claim_on = null, maintain_on = null" });
    await boss.supervise(QUEUE);
    await boss.stop({ graceful: false });
    await database.query({ text: "update pgboss.job set start_after = now() where state = 'retry'" });
  }

  /** A process takes what is due, as the loop does, and dies. */
  async function die(): Promise<void> {
    for (const claimed of await queue.claim(100)) if (claimed.unended > 0) await queue.keepUnended(claimed);
    await takeOver();
  }

  async function stepsOfRunner(): Promise<{ steps: string[]; runner: Awaited<ReturnType<typeof startRunner>> }> {
    const steps: string[] = [];
    const runner = await startRunner(queue, {
      step: async (id) => void steps.push(id),
      remaining: async (_transaction, _job, failed) => (failed ? "more" : "nothing"),
    });
    return { steps, runner };
  }

  test("are started again after the first and the second death, and count them", async () => {
    await addJobs(queue, job);
    await die();
    await die();
    const { steps, runner } = await stepsOfRunner();
    await waitUntil("it is done", () => runner.runs.length === 1);
    expect(steps).toEqual([job.conversationId]);
    expect(runner.outcomes()).toEqual(["done"]);
  });

  test("are dead letters after the third, are not started again, and are listed with the reason", async () => {
    await addJobs(queue, job);
    for (let death = 0; death < 3; death++) await die();
    const { steps, runner } = await stepsOfRunner();
    await waitUntil("it is buried", () => runner.runs.length === 1);
    expect(runner.outcomes()).toEqual(["failed"]);
    expect(steps).toEqual([]);
    const [letter] = await makeJobOverview(database).listDead(10, null);
    expect(letter?.job).toEqual(job);
    expect(letter?.failure).toEqual({ code: "internal_error", message: expect.stringContaining("held it up 3 times") });
    expect(await queue.claim(10)).toEqual([]);
  });

  test("run anew, with as many lives, when somebody asks for it", async () => {
    await addJobs(queue, job);
    for (let death = 0; death < 3; death++) await die();
    const burying = await stepsOfRunner();
    await waitUntil("it is buried", () => burying.runner.runs.length === 1);
    await burying.runner.stop();
    expect(await makeJobOverview(database).retryDead({ tenantId: null })).toBe(1);
    expect(await claimOnly(queue)).toMatchObject({ job, unended: 0 });
  });

  test("are not counted when they fail or are handed back, however often", async () => {
    await addJobs(queue, job);
    for (let attempt = 0; attempt < 4; attempt++) {
      const claimed = await claimOnly(queue);
      expect(claimed.unended).toBe(0);
      await queue.transaction((_transaction, jobs) =>
        jobs.fail(claimed, { code: "model_unavailable", message: "It is away." }, { retryAfterSeconds: 0 }),
      );
    }
  });

  test("that only waited beside the one that ended it are not dead letters with it", async () => {
    const innocent = sampleJob();
    await addJobs(queue, job, innocent);
    await die();
    await die();
    // From here on suspects run one at a time: the first ends the process before the second has begun.
    const first = (await queue.claim(100)).find((claimed) => conversationOf(claimed) === job.conversationId);
    if (first) await queue.keepUnended(first);
    await takeOver();
    const { steps, runner } = await stepsOfRunner();
    await waitUntil("both have ended", () => runner.runs.length === 2);
    expect(steps).toEqual([innocent.conversationId]);
    expect(runner.outcomes().sort()).toEqual(["done", "failed"]);
  });
});
