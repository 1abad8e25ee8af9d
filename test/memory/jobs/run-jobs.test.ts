import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import type { Remaining } from "../../../memory/jobs/run-jobs.ts";
import type { Job } from "../../../stores/jobs/job.ts";
import { type JobOverview, makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { type JobQueue, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { NEVER_MS, startRunner, stopRunners, untilAborted } from "./job-runners.ts";
import { addJobs, claimOnly, clearJobs, conversationOf, sampleJob, type SampleJob } from "../../support/samples/sample-jobs.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { waitUntil } from "../../support/wait-until.ts";

describeOnBothDatabases("running jobs", (open) => {
  let database: Database;
  let queue: JobQueue;
  let overview: JobOverview;
  beforeAll(async () => {
    database = await open();
    queue = makeJobQueue(database);
    overview = makeJobOverview(database);
  });
  beforeEach(() => clearJobs(database));
  afterEach(stopRunners);
  afterAll(() => database.close());

  const erase = (job: SampleJob): Promise<number> => queue.transaction((_transaction, jobs) => jobs.erase(job));

  test("a job starts as soon as it is committed, without being looked for", async () => {
    const ran: string[] = [];
    const runner = await startRunner(queue, { step: async (id) => void ran.push(id) }, { pollMs: NEVER_MS });
    const jobs = [sampleJob(), sampleJob(), sampleJob()];
    for (const [index, job] of jobs.entries()) {
      await addJobs(makeJobQueue(database), job);
      await waitUntil("the job has run", () => runner.runs.length > index);
    }
    expect(ran).toEqual(jobs.map(({ conversationId }) => conversationId));
    expect(runner.runs[0]).toEqual({ kind: "summarise", outcome: "done", ms: expect.any(Number) });
    expect(await overview.count(null)).toEqual([]);
    expect(runner.errors).toEqual([]);
  });

  test("jobs that were there before are started, also more than there is room for, without being looked for", async () => {
    await addJobs(queue, ...Array.from({ length: 9 }, () => sampleJob()));
    const runner = await startRunner(queue, { step: () => sleep(5) }, { pollMs: NEVER_MS, concurrency: 2 });
    await waitUntil("nine jobs have run", () => runner.runs.length === 9);
    expect(await overview.count(null)).toEqual([]);
  });

  test("jobs of different conversations run side by side, as many as `concurrency` says", async () => {
    await addJobs(queue, ...Array.from({ length: 7 }, () => sampleJob()));
    const gate = Promise.withResolvers<void>();
    let atWork = 0;
    let most = 0;
    const step = async (): Promise<void> => {
      most = Math.max(most, ++atWork);
      await gate.promise;
      atWork--;
    };
    const runner = await startRunner(queue, { step }, { concurrency: 3 });
    await waitUntil("three at work", () => atWork === 3);
    await sleep(500); // two looks
    expect(atWork).toBe(3);
    gate.resolve();
    await waitUntil("all have run", () => runner.runs.length === 7);
    expect(most).toBe(3);
  });

  test("a job that always fails and one that never ends keep no other conversation's waiting", async () => {
    const [failing, endless, good] = [sampleJob(), sampleJob(), sampleJob()];
    await addJobs(queue, failing, endless);
    const step = async (id: string, signal: AbortSignal): Promise<void> => {
      if (id === failing.conversationId) throw new Error("poison");
      if (id === endless.conversationId) await untilAborted(signal);
    };
    const remaining = async (_transaction: unknown, job: Job) =>
      (conversationOf({ job }) === good.conversationId ? "nothing" : "more") as Remaining;
    const runner = await startRunner(queue, { step, remaining }, { concurrency: 2 });
    await waitUntil("the failing one has failed", () => runner.outcomes().includes("failed"));
    await addJobs(queue, good);
    await waitUntil("the good one has run", () => runner.outcomes().includes("done"));
    expect(runner.runs.find(({ outcome }) => outcome === "failed")?.error).toMatchObject({ code: "internal_error" });
  });

  test("what a turn adds while its job runs is not missed: the job on hand runs again", async () => {
    const turns = makeTurnStore(database);
    const summaries = makeSummaryStore(database);
    const talk = await completeTurn(turns, sampleTurn());
    const count = (transaction = database as Pick<Database, "query">): Promise<number> =>
      summaries.lockAndCount(transaction, talk, 1_000).then((counted) => counted?.uncovered ?? 0);
    const gate = Promise.withResolvers<void>();
    const seen: number[] = [];
    const runner = await startRunner(
      queue,
      {
        async step() {
          seen.push(await count());
          if (seen.length === 1) await gate.promise;
        },
        remaining: async (transaction) => ((await count(transaction)) > (seen.at(-1) ?? 0) ? "more" : "nothing"),
      },
      { pollMs: NEVER_MS },
    );
    const { tenantId, userId, conversationId } = talk;
    const job = sampleJob({ tenantId, userId, conversationId });
    await addJobs(queue, job);
    await waitUntil("the job has counted", () => seen.length === 1);
    const next = await beginFreely(turns, sampleTurn({ sessionId: talk.sessionId }));
    await turns.finish(next, sampleAnswer(), [job]);
    expect(await overview.pending(job)).toBe(1);
    gate.resolve();
    await waitUntil("the job is done", () => runner.outcomes().includes("done"));
    expect(seen).toEqual([2, 4]);
    expect(runner.outcomes()).toEqual(["again", "done"]);
    expect(await overview.pending(job)).toBe(0);
  });

  test("a job that always has more to do leaves time for everything else, also when nothing in it waits", async () => {
    let steps = 0;
    const runner = await startRunner(queue, { step: async () => void steps++, remaining: async () => (steps < 300 ? "more" : "nothing") });
    let stepsSeen = 0;
    const looking = setInterval(() => (stepsSeen += steps > 0 && steps < 300 ? 1 : 0), 1);
    await addJobs(queue, sampleJob());
    await waitUntil("the last step", () => runner.outcomes().includes("done"), 60_000);
    clearInterval(looking);
    expect(stepsSeen).toBeGreaterThan(10);
  });

  test("a job with more to do goes behind those that wait", async () => {
    const jobs = [sampleJob(), sampleJob(), sampleJob()];
    await addJobs(queue, ...jobs);
    const [first, second, third] = jobs.map(({ conversationId }) => conversationId);
    const ran: string[] = [];
    const step = async (id: string): Promise<void> => void ran.push(id);
    await startRunner(queue, { step, remaining: async () => (ran.length === 1 ? "more" : "nothing") }, { concurrency: 1 });
    await waitUntil("four runs", () => ran.length === 4);
    expect(ran).toEqual([first, second, third, first]);
  });

  describe("a job that fails", () => {
    test("is told with its error and tried again, with the same job", async () => {
      let runs = 0;
      const step = async (): Promise<void> => {
        if (++runs <= 2) throw new AppError("model_unavailable", "The model is away.");
      };
      await addJobs(queue, sampleJob());
      const runner = await startRunner(queue, { step, remaining: async () => (runs <= 2 ? "more" : "nothing") });
      await waitUntil("the third run", () => runner.runs.length === 3, 30_000);
      expect(runner.outcomes()).toEqual(["failed", "failed", "done"]);
      expect(runner.runs[0]?.error).toMatchObject({ code: "model_unavailable", message: "The model is away." });
      expect(await overview.count(null)).toEqual([]);
    });

    test.each(["nothing", "erased"] as const)(
      "is done when what is left of its work is %s, and told with its error unless it is erased",
      async (remaining) => {
        const error = new AppError("index_unavailable", "The flush took too long.");
        await addJobs(queue, sampleJob());
        const runner = await startRunner(queue, { step: () => Promise.reject(error), remaining });
        await waitUntil("the run", () => runner.runs.length > 0);
        const run = { kind: "summarise", outcome: "done", ms: expect.any(Number) };
        expect(runner.runs).toEqual([remaining === "nothing" ? { ...run, error } : run]);
        expect(await overview.count(null)).toEqual([]);
      },
    );
  });

  test.each([
    ["ends well", false],
    ["fails", true],
  ])("a job that is erased while it runs leaves nothing in the queue when it %s", async (_name, fails) => {
    const job = sampleJob();
    await addJobs(queue, job);
    const step = async (): Promise<void> => {
      expect(await erase(job)).toBe(1);
      if (fails) throw new Error("failed all the same");
    };
    const runner = await startRunner(queue, { step, remaining: "erased" });
    await waitUntil("the run", () => runner.runs.length > 0);
    expect(runner.outcomes()).toEqual(["lost"]);
    expect(await database.query({ text: "select id from pgboss.job" })).toEqual([]);
  });

  describe("stop", () => {
    test("lets a job end within the grace", async () => {
      const started = Promise.withResolvers<void>();
      const runner = await startRunner(queue, {
        async step() {
          started.resolve();
          await sleep(200);
        },
      });
      await addJobs(queue, sampleJob());
      await started.promise;
      await runner.stop(30_000);
      expect(runner.outcomes()).toEqual(["done"]);
    });

    test("hands a job that takes longer back, so that another gets it at once and whole", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      const started = Promise.withResolvers<void>();
      const runner = await startRunner(queue, {
        async step(_id, signal) {
          started.resolve();
          await untilAborted(signal);
        },
        remaining: "more",
      });
      await started.promise;
      await runner.stop();
      expect(runner.outcomes()).toEqual(["handed_back"]);
      expect((await claimOnly(queue)).job).toEqual(job);
    });

    test("hands a job back that was being claimed", async () => {
      await addJobs(queue, sampleJob());
      const claiming = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const slow: JobQueue = {
        ...queue,
        async claim(limit) {
          const claimed = await queue.claim(limit);
          claiming.resolve();
          await gate.promise;
          return claimed;
        },
      };
      const runner = await startRunner(slow, { step: (_id, signal) => untilAborted(signal), remaining: "more" });
      await claiming.promise;
      const stopped = runner.stop();
      await sleep(100);
      gate.resolve();
      await stopped;
      await claimOnly(queue);
    });

    test("takes no job any more", async () => {
      const runner = await startRunner(queue, { step: async () => undefined }, { pollMs: 10 });
      await runner.stop();
      await addJobs(queue, sampleJob());
      await sleep(100);
      expect(runner.runs).toEqual([]);
      await claimOnly(queue);
    });
  });
});
