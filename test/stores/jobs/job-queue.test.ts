import { describe, expect, test } from "@jest/globals";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { jobKey } from "../../../stores/jobs/job.ts";
import { makeBoss, QUEUE } from "../../../stores/postgres/database/pg-boss.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, conversationOf, sampleJob, takeBack, useJobs } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";

const INSERT = `insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
values ($1, 'tenant', 'user', $1::uuid::text, 0, now(), now(), now())`;

describeOnBothDatabases("the job queue", (open) => {
  const at = useJobs(open);
  const storedJobs = () => at.database.query({ text: "select id from pgboss.job" });
  /** Claims what is due; the conversations of these jobs. */
  const claimAll = async (limit = 100): Promise<string[]> => (await at.queue.claim(limit)).map(conversationOf);

  describe("add", () => {
    const stored = (id: string) => at.database.query({ text: "select id from conversations where id = $1", values: [id] });

    test("commits with its transaction", async () => {
      const job = sampleJob();
      await at.queue.transaction(async (transaction, jobs) => {
        await jobs.add([]);
        await jobs.add([job]);
        await transaction.query({ text: INSERT, values: [job.conversationId] });
      });
      expect(await stored(job.conversationId)).toHaveLength(1);
      const claimed = await at.claimOnly();
      expect(claimed.job).toEqual(job);
      expect(claimed.createdAt).toBeInstanceOf(Date);
    });

    test("is claimed at a time that is no later than its claim", async () => {
      await at.add(sampleJob());
      const claiming = at.queue.claim(1);
      const before = performance.now();
      const [claimed] = await claiming;
      expect(claimed?.claimedAt).toBeLessThanOrEqual(before);
      expect(claimed?.claimedAt).toBeGreaterThan(before - 60_000);
    });

    test("writes the row that pg-boss' own insert writes", async () => {
      const [ours, theirs] = [sampleJob(), sampleJob()];
      await at.add(ours);
      await makeBoss({ database: at.database, onError: () => undefined }).insert(QUEUE, [{ data: theirs, singletonKey: jobKey(theirs) }]);
      const text =
        "select *, keep_until - start_after as kept, start_after - created_on as delay from pgboss.job where data->>'conversationId' = $1";
      const rowOf = async ({ conversationId }: typeof ours) => {
        const [row] = await at.database.query<Record<string, unknown>>({ text, values: [conversationId] });
        const { id, data, singleton_key, created_on, start_after, keep_until, ...rest } = row ?? {};
        expect([id, data, singleton_key, created_on, start_after, keep_until]).not.toContain(undefined);
        return rest;
      };
      expect(await rowOf(ours)).toEqual(await rowOf(theirs));
    });

    test("rolls back with its transaction", async () => {
      const job = sampleJob();
      await takeBack(at.queue, async (jobs, transaction) => {
        await transaction.query({ text: INSERT, values: [job.conversationId] });
        await jobs.add([job]);
      });
      expect(await stored(job.conversationId)).toEqual([]);
      expect(await at.queue.claim(100)).toEqual([]);
    });

    test("is possible as the first use of a queue, whose look-up needs the only connection", async () => {
      const job = sampleJob();
      await addJobs(makeJobQueue(at.database), job);
      expect(await claimAll()).toEqual([job.conversationId]);
    });

    test("of the same job several times, together or at once, adds it once", async () => {
      const job = sampleJob();
      await at.add(job);
      await at.queue.transaction((_transaction, jobs) => jobs.add([job, job]));
      await Promise.all(Array.from({ length: 8 }, () => at.add(job)));
      expect(await claimAll()).toEqual([job.conversationId]);
      expect(await at.overview.hasten(job)).toBe(1);
    });

    test.each(["running", "retrying"] as const)("of a %s job changes nothing", async (state) => {
      const job = sampleJob();
      const [claimed] = await at.bring(state, job);
      await at.add(job);
      expect(await at.queue.claim(100)).toEqual([]);
      expect(await at.overview.hasten(job)).toBe(1);
      if (state === "running" && claimed) expect(await at.settle(claimed)).toBe(true);
      expect(await at.overview.hasten(job)).toBe(state === "running" ? 0 : 1);
    });

    test("takes a job again once the one before is done, or dead", async () => {
      const job = sampleJob();
      await at.add(job);
      await at.settle(await at.claimOnly());
      await at.kill(job);
      await at.add(job);
      expect(await claimAll()).toEqual([job.conversationId]);
    });
  });

  describe("claim", () => {
    test("gives the oldest first, and no more than asked for", async () => {
      const jobs = Array.from({ length: 5 }, () => sampleJob());
      await at.add(...jobs);
      const ids = jobs.map(({ conversationId }) => conversationId); // made in rising order
      expect((await claimAll(2)).sort()).toEqual(ids.slice(0, 2));
      expect((await claimAll(2)).sort()).toEqual(ids.slice(2, 4));
      expect(await claimAll(2)).toEqual(ids.slice(4));
      expect(await claimAll(2)).toEqual([]);
    });

    test("never gives the same job to two", async () => {
      const jobs = Array.from({ length: 20 }, () => sampleJob());
      await at.queue.transaction((_transaction, jobTransaction) => jobTransaction.add(jobs));
      const others = Array.from({ length: 10 }, () => makeJobQueue(at.database));
      const claimed = (await Promise.all(others.map((other) => other.claim(4)))).flat();
      expect(claimed.map(conversationOf).sort()).toEqual(jobs.map(({ conversationId }) => conversationId).sort());
    });

    test("that was lost neither settles nor fails the job of its present holder", async () => {
      await at.add(sampleJob());
      const lost = await at.claimOnly();
      await at.fail(lost, { retryAfterSeconds: 0 });
      const current = await at.claimOnly();
      expect(current.id).toBe(lost.id);
      expect(await at.settle(lost)).toBe(false);
      await at.fail(lost, { retryAfterSeconds: 0, isLast: true });
      expect(await at.queue.touch([lost])).toEqual([]);
      expect(await at.queue.touch([current])).toEqual([current]);
      expect(await at.queue.touch([lost, current])).toEqual([current]);
      expect(await at.queue.claim(100)).toEqual([]);
      expect(await at.settle(current)).toBe(true);
    });
  });

  test("settle leaves nothing behind, and rolls back with its transaction", async () => {
    await at.add(sampleJob());
    const claimed = await at.claimOnly();
    await takeBack(at.queue, (jobs) => jobs.settle(claimed));
    expect(await at.queue.touch([claimed])).toEqual([claimed]);
    expect(await at.settle(claimed)).toBe(true);
    expect(await at.settle(claimed)).toBe(false);
    expect(await storedJobs()).toEqual([]);
  });

  describe("fail", () => {
    test("without a delay makes the job due at once", async () => {
      const job = sampleJob();
      await at.add(job);
      const first = await at.claimOnly();
      await at.fail(first, { retryAfterSeconds: 0 });
      const second = await at.claimOnly();
      expect(second).toMatchObject({ id: first.id, job, createdAt: first.createdAt });
      expect(second.retryCount).not.toBe(first.retryCount);
    });

    test.each([
      ["the queue's own delay", {}, 900],
      ["a delay of three seconds", { retryAfterSeconds: 3 }, 2_900],
    ])("with %s makes it due after that, not before", async (_name, plan, atLeastMs) => {
      await at.add(sampleJob());
      const claimed = await at.claimOnly();
      const began = performance.now();
      await at.fail(claimed, plan);
      await waitUntil("the job is due", async () => (await at.queue.claim(1)).length === 1);
      expect(performance.now() - began).toBeGreaterThan(atLeastMs);
    });

    test("with isLast makes the next try the last one, after which the job is buried with its error", async () => {
      const job = sampleJob();
      const failure = { code: "model_refused", message: "No." };
      await at.add(job);
      await at.fail(await at.claimOnly(), { retryAfterSeconds: 0, isLast: true });
      expect(await at.overview.listDead(10, null)).toEqual([]);
      const last = await at.claimOnly();
      expect(last).toMatchObject({ job, isLast: true });
      await at.bury(last, failure);
      expect(await at.overview.listDead(10, null)).toMatchObject([{ job, attempts: 2, failure }]);
      expect(await at.queue.claim(100)).toEqual([]);
      expect(await at.overview.hasten(job)).toBe(0);
    });
  });
});
