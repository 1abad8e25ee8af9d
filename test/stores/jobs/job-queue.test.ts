import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeJobOverview, type JobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue, type JobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import {
  addJobs,
  claimOnly,
  clearJobs,
  conversationOf,
  failJob,
  killJobs,
  sampleJob,
  settleJob,
} from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

describeOnBothDatabases("the job queue", (open) => {
  let database: Database;
  let queue: JobQueue;
  let overview: JobOverview;
  beforeAll(async () => {
    database = await open();
    overview = makeJobOverview(database);
  });
  beforeEach(async () => {
    queue = makeJobQueue(database);
    await clearJobs(database);
  });
  afterAll(() => database.close());

  /** Ids of the conversations of the jobs that are due, which are taken. */
  const claimAll = async (limit = 100): Promise<string[]> => (await queue.claim(limit)).map(conversationOf);

  describe("add", () => {
    const INSERT = `insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
      values ($1, 'tenant', 'user', $1::uuid::text, 0, now(), now(), now())`;
    const stored = (id: string) => database.query({ text: "select id from conversations where id = $1", values: [id] });

    test("holds with everything else that its transaction writes", async () => {
      const job = sampleJob();
      await queue.transaction(async (transaction, jobs) => {
        await jobs.add([job]);
        await transaction.query({ text: INSERT, values: [job.conversationId] });
      });
      expect(await stored(job.conversationId)).toHaveLength(1);
      const claimed = await claimOnly(queue);
      expect(claimed.job).toEqual(job);
      expect(claimed.createdAt).toBeInstanceOf(Date);
    });

    test("falls with everything else that its transaction writes", async () => {
      const job = sampleJob();
      const failing = queue.transaction(async (transaction, jobs) => {
        await transaction.query({ text: INSERT, values: [job.conversationId] });
        await jobs.add([job]);
        throw new Error("thought better of it");
      });
      await expect(failing).rejects.toThrow("thought better of it");
      expect(await stored(job.conversationId)).toEqual([]);
      expect(await queue.claim(100)).toEqual([]);
    });

    test("of no job is nothing", async () => {
      await queue.transaction((_transaction, jobs) => jobs.add([]));
      expect(await queue.claim(100)).toEqual([]);
    });

    test("as the first thing a process does with the queue does not wait for the one connection that it has itself", async () => {
      const job = sampleJob();
      await addJobs(makeJobQueue(database), job);
      expect(await claimAll()).toEqual([job.conversationId]);
    });

    test("of a job that waits changes nothing, also when both are added at once or together", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      await queue.transaction((_transaction, jobs) => jobs.add([job, job]));
      await Promise.all(Array.from({ length: 8 }, () => addJobs(queue, job)));
      expect(await claimAll()).toEqual([job.conversationId]);
      expect(await overview.pending(job)).toBe(1);
    });

    test("of a job that runs changes nothing", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      const claimed = await claimOnly(queue);
      await addJobs(queue, job);
      expect(await queue.claim(100)).toEqual([]);
      expect(await settleJob(queue, claimed)).toBe(true);
      expect(await overview.pending(job)).toBe(0);
    });

    test("of a job that is to be tried again changes nothing, not even when that is", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 3_600 });
      await addJobs(queue, job);
      expect(await queue.claim(100)).toEqual([]);
      expect(await overview.pending(job)).toBe(1);
    });

    test("takes a job anew once the one before is done, or dead", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      await settleJob(queue, await claimOnly(queue));
      await killJobs(queue, [job]);
      await addJobs(queue, job);
      expect(await claimAll()).toEqual([job.conversationId]);
    });

    test("keeps the jobs of different conversations apart, in whatever state the others are", async () => {
      const [running, waiting, added] = [sampleJob(), sampleJob(), sampleJob()];
      await addJobs(queue, running);
      await claimOnly(queue);
      await addJobs(queue, waiting, added);
      expect((await claimAll()).sort()).toEqual([waiting.conversationId, added.conversationId]);
    });
  });

  describe("claim", () => {
    test("gives the oldest first, and no more than asked for", async () => {
      const jobs = Array.from({ length: 5 }, () => sampleJob());
      await addJobs(queue, ...jobs);
      const ids = jobs.map(({ conversationId }) => conversationId); // made in rising order
      expect((await claimAll(2)).sort()).toEqual(ids.slice(0, 2));
      expect((await claimAll(2)).sort()).toEqual(ids.slice(2, 4));
      expect(await claimAll(2)).toEqual(ids.slice(4));
      expect(await claimAll(2)).toEqual([]);
    });

    test("never gives the same job to two", async () => {
      const jobs = Array.from({ length: 20 }, () => sampleJob());
      await queue.transaction((_transaction, jobTransaction) => jobTransaction.add(jobs));
      const others = Array.from({ length: 10 }, () => makeJobQueue(database));
      const claimed = (await Promise.all(others.map((other) => other.claim(4)))).flat();
      expect(claimed.map(conversationOf).sort()).toEqual(jobs.map(({ conversationId }) => conversationId).sort());
    });
  });

  describe("a claim that was lost", () => {
    test("neither settles nor fails the job of the one who has it now", async () => {
      await addJobs(queue, sampleJob());
      const lost = await claimOnly(queue);
      await failJob(queue, lost, { retryAfterSeconds: 0 });
      const current = await claimOnly(queue);
      expect(current.id).toBe(lost.id);
      expect(await settleJob(queue, lost)).toBe(false);
      await failJob(queue, lost, { retryAfterSeconds: 0, isLast: true });
      expect(await queue.touch([lost])).toEqual([]);
      expect(await queue.touch([current])).toEqual([current]);
      expect(await queue.claim(100)).toEqual([]);
      expect(await settleJob(queue, current)).toBe(true);
    });

    test("of an erased job brings nothing back", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      const claimed = await claimOnly(queue);
      await queue.transaction((_transaction, jobs) => jobs.erase(job));
      await failJob(queue, claimed, { retryAfterSeconds: 0 });
      expect(await settleJob(queue, claimed)).toBe(false);
      expect(await queue.touch([claimed])).toEqual([]);
      expect(await database.query({ text: "select id from pgboss.job" })).toEqual([]);
    });
  });

  test("settle leaves nothing behind, and falls with its transaction", async () => {
    await addJobs(queue, sampleJob());
    const claimed = await claimOnly(queue);
    const failing = queue.transaction(async (_transaction, jobs) => {
      await jobs.settle(claimed);
      throw new Error("thought better of it");
    });
    await expect(failing).rejects.toThrow("thought better of it");
    expect(await queue.touch([claimed])).toEqual([claimed]);
    expect(await settleJob(queue, claimed)).toBe(true);
    expect(await settleJob(queue, claimed)).toBe(false);
    expect(await database.query({ text: "select id from pgboss.job" })).toEqual([]);
  });

  describe("fail", () => {
    test("without a delay makes the job due at once", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      const first = await claimOnly(queue);
      await failJob(queue, first, { retryAfterSeconds: 0 });
      const second = await claimOnly(queue);
      expect(second).toMatchObject({ id: first.id, job, createdAt: first.createdAt });
      expect(second.retryCount).not.toBe(first.retryCount);
    });

    test.each([
      ["the queue's own delay", {}, 900],
      ["a delay of three seconds", { retryAfterSeconds: 3 }, 2_900],
    ])("with %s makes it due when that is over, not before", async (_name, plan, atLeastMs) => {
      await addJobs(queue, sampleJob());
      const claimed = await claimOnly(queue);
      const began = performance.now();
      await failJob(queue, claimed, plan);
      await waitUntil("the job is due", async () => (await queue.claim(1)).length === 1);
      expect(performance.now() - began).toBeGreaterThan(atLeastMs);
    });

    test("with isLast gives one more try, whose failure makes a dead letter with its error", async () => {
      const job = sampleJob();
      await addJobs(queue, job);
      await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 0, isLast: true });
      expect(await overview.listDead(10, null)).toEqual([]);
      await failJob(queue, await claimOnly(queue), {}, { code: "model_refused", message: "No." });
      expect(await overview.listDead(10, null)).toMatchObject([{ job, attempts: 2, failure: { code: "model_refused", message: "No." } }]);
      expect(await queue.claim(100)).toEqual([]);
      expect(await overview.pending(job)).toBe(0);
    });
  });
});
