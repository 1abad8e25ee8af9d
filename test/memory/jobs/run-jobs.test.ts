import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { type JobQueue, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { makeTurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import type { Remaining } from "../../../memory/jobs/run-jobs.ts";
import type { Job } from "../../../stores/jobs/job.ts";
import type { Queryable } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, claimOnly, conversationOf, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { NEVER_MS, type TestRunner, untilAborted, useRunners } from "./job-runners.ts";

describeOnBothDatabases("running jobs", (open) => {
  const jobs = useJobs(open);
  const start = useRunners();
  const ran = (runner: TestRunner, count: number) => waitUntil(`${count} runs`, () => runner.runs.length >= count);
  const add = async (count: number) => {
    const added = Array.from({ length: count }, () => sampleJob());
    await addJobs(jobs.queue, ...added);
    return added.map(({ conversationId }) => conversationId);
  };
  const counts = () => jobs.overview.count(null);

  test("a job starts as soon as it is committed, without being looked for", async () => {
    const steps: string[] = [];
    const runner = await start(jobs.queue, { step: async (id) => void steps.push(id) }, { pollMs: NEVER_MS });
    const added = [sampleJob(), sampleJob(), sampleJob()];
    for (const [index, job] of added.entries()) {
      await addJobs(makeJobQueue(jobs.database), job);
      await ran(runner, index + 1);
    }
    expect(steps).toEqual(added.map(({ conversationId }) => conversationId));
    expect(runner.runs[0]).toEqual({ kind: "summarise", outcome: "done", ms: expect.any(Number) });
    expect(await counts()).toEqual([]);
    expect(runner.errors).toEqual([]);
  });

  test("jobs that were there before are started, also more than there is room for, without being looked for", async () => {
    await add(9);
    await ran(await start(jobs.queue, { step: () => sleep(5) }, { pollMs: NEVER_MS, concurrency: 2 }), 9);
    expect(await counts()).toEqual([]);
  });

  test("jobs of different conversations run side by side, as many as `concurrency` says", async () => {
    await add(7);
    const gate = Promise.withResolvers<void>();
    let [atWork, most] = [0, 0];
    const step = async (): Promise<void> => {
      most = Math.max(most, ++atWork);
      await gate.promise;
      atWork--;
    };
    const runner = await start(jobs.queue, { step }, { concurrency: 3 });
    await waitUntil("three at work", () => atWork === 3);
    await sleep(500); // two looks
    expect(atWork).toBe(3);
    gate.resolve();
    await ran(runner, 7);
    expect(most).toBe(3);
  });

  test("a job that always fails and one that never ends keep no other conversation's waiting", async () => {
    const [failing, endless] = await add(2);
    const step = async (id: string, signal: AbortSignal): Promise<void> => {
      if (id === failing) throw new Error("poison");
      if (id === endless) await untilAborted(signal);
    };
    const isPoor = (id: string): boolean => id === failing || id === endless;
    const remaining = async (_transaction: unknown, job: Job): Promise<Remaining> => (isPoor(conversationOf({ job })) ? "more" : "nothing");
    const runner = await start(jobs.queue, { step, remaining }, { concurrency: 2 });
    await waitUntil("the failing one has failed", () => runner.outcomes().includes("failed"));
    await add(1);
    await waitUntil("the good one has run", () => runner.outcomes().includes("done"));
    expect(runner.runs.find(({ outcome }) => outcome === "failed")?.error).toMatchObject({ code: "internal_error" });
  });

  test("what a turn adds while its job runs is not missed: the job on hand runs again", async () => {
    const turns = makeTurnStore(jobs.database);
    const summaries = makeSummaryStore(jobs.database);
    const { tenantId, userId, conversationId, sessionId } = await completeTurn(turns, sampleTurn());
    const job = sampleJob({ tenantId, userId, conversationId });
    const count = async (transaction: Queryable = jobs.database): Promise<number> =>
      (await summaries.lockAndCount(transaction, job, 1_000))?.uncovered ?? 0;
    const gate = Promise.withResolvers<void>();
    const seen: number[] = [];
    const step = async (): Promise<void> => {
      seen.push(await count());
      if (seen.length === 1) await gate.promise;
    };
    const remaining = async (transaction: Queryable): Promise<Remaining> =>
      (await count(transaction)) > (seen.at(-1) ?? 0) ? "more" : "nothing";
    const runner = await start(jobs.queue, { step, remaining }, { pollMs: NEVER_MS });
    await addJobs(jobs.queue, job);
    await waitUntil("the job has counted", () => seen.length === 1);
    await turns.finish(await beginFreely(turns, sampleTurn({ sessionId })), sampleAnswer(), [job]);
    expect(await jobs.overview.hasten(job)).toBe(1);
    gate.resolve();
    await ran(runner, 2);
    expect(seen).toEqual([2, 4]);
    expect(runner.outcomes()).toEqual(["again", "done"]);
    expect(await jobs.overview.hasten(job)).toBe(0);
  });

  test("a job that always has more to do leaves time for everything else, also when nothing in it waits", async () => {
    let [steps, stepsSeen] = [0, 0];
    const step = async (): Promise<void> => void steps++;
    const runner = await start(jobs.queue, { step, remaining: async () => (steps < 300 ? "more" : "nothing") });
    const looking = setInterval(() => (stepsSeen += steps > 0 && steps < 300 ? 1 : 0), 1);
    await add(1);
    await waitUntil("the last step", () => runner.outcomes().includes("done"));
    clearInterval(looking);
    expect(stepsSeen).toBeGreaterThan(10);
  });

  test("a job with more to do goes behind those that wait", async () => {
    const [first, second, third] = await add(3);
    const steps: string[] = [];
    const step = async (id: string): Promise<void> => void steps.push(id);
    await start(jobs.queue, { step, remaining: async () => (steps.length === 1 ? "more" : "nothing") }, { concurrency: 1 });
    await waitUntil("four runs", () => steps.length === 4);
    expect(steps).toEqual([first, second, third, first]);
  });

  test("a job that fails is told with its error and tried again, with the same job", async () => {
    let runs = 0;
    const step = async (): Promise<void> => {
      if (++runs <= 2) throw new AppError("model_unavailable", "The model is away.");
    };
    await add(1);
    const runner = await start(jobs.queue, { step, remaining: async () => (runs <= 2 ? "more" : "nothing") });
    await ran(runner, 3);
    expect(runner.outcomes()).toEqual(["failed", "failed", "done"]);
    expect(runner.runs[0]?.error).toMatchObject({ code: "model_unavailable", message: "The model is away." });
    expect(await counts()).toEqual([]);
  });

  test.each(["nothing", "erased"] as const)(
    "a job that fails is done when %s is left of its work, and told with its error unless it is erased",
    async (remaining) => {
      const error = new AppError("index_unavailable", "The flush took too long.");
      await add(1);
      const runner = await start(jobs.queue, { step: () => Promise.reject(error), remaining });
      await ran(runner, 1);
      const run = { kind: "summarise", outcome: "done", ms: expect.any(Number) };
      expect(runner.runs).toEqual([remaining === "nothing" ? { ...run, error } : run]);
      expect(await counts()).toEqual([]);
    },
  );

  test.each([
    ["ends well", false],
    ["fails", true],
  ])("a job that is erased while it runs leaves nothing in the queue when it %s", async (_name, fails) => {
    const job = sampleJob();
    await addJobs(jobs.queue, job);
    const step = async (): Promise<void> => {
      expect(await jobs.queue.transaction((_transaction, added) => added.erase(job))).toBe(1);
      if (fails) throw new Error("failed all the same");
    };
    const runner = await start(jobs.queue, { step, remaining: "erased" });
    await ran(runner, 1);
    expect(runner.outcomes()).toEqual(["lost"]);
    expect(await jobs.database.query({ text: "select id from pgboss.job" })).toEqual([]);
  });

  describe("stop", () => {
    /** A worker at work on the only job. */
    async function startOn(step: (signal: AbortSignal) => Promise<void>) {
      const job = sampleJob();
      await addJobs(jobs.queue, job);
      const started = Promise.withResolvers<void>();
      const work = (_id: string, signal: AbortSignal): Promise<void> => {
        started.resolve();
        return step(signal);
      };
      const runner = await start(jobs.queue, {
        step: work,
        remaining: async (_transaction, _job, failed) => (failed ? "more" : "nothing"),
      });
      await started.promise;
      return { job, runner };
    }

    test("lets a job end within the grace", async () => {
      const { runner } = await startOn(() => sleep(200));
      await runner.stop(30_000);
      expect(runner.outcomes()).toEqual(["done"]);
    });

    test("hands a job that takes longer back, so that another gets it at once and whole", async () => {
      const { job, runner } = await startOn(untilAborted);
      await runner.stop();
      expect(runner.outcomes()).toEqual(["handed_back"]);
      expect((await claimOnly(jobs.queue)).job).toEqual(job);
    });

    test("hands a job back that was being claimed", async () => {
      await add(1);
      const [claiming, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const claim: JobQueue["claim"] = async (limit) => {
        const claimed = await jobs.queue.claim(limit);
        claiming.resolve();
        await gate.promise;
        return claimed;
      };
      const runner = await start({ ...jobs.queue, claim }, { step: (_id, signal) => untilAborted(signal), remaining: "more" });
      await claiming.promise;
      const stopped = runner.stop();
      await sleep(100);
      gate.resolve();
      await stopped;
      await claimOnly(jobs.queue);
    });

    test("waits for the word that its jobs are still at work", async () => {
      await add(1);
      const [touching, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const touch: JobQueue["touch"] = async (claimed) => {
        touching.resolve();
        await gate.promise;
        return [...claimed];
      };
      const runner = await start({ ...jobs.queue, touch }, { step: () => touching.promise });
      await ran(runner, 1);
      const stopped = runner.stop();
      expect(await Promise.race([stopped, sleep(100, "not yet")])).toBe("not yet");
      gate.resolve();
      await stopped;
    });

    test("takes no job any more", async () => {
      const runner = await start(jobs.queue, {}, { pollMs: 10 });
      await runner.stop();
      await add(1);
      await sleep(100);
      expect(runner.runs).toEqual([]);
      await claimOnly(jobs.queue);
    });
  });
});
