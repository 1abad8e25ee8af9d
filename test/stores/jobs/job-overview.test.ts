import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
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
  SAMPLE_FAILURE,
  sampleJob,
} from "../../support/samples/sample-jobs.ts";

describeOnBothDatabases("the overview of jobs", (open) => {
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

  const deadIds = async (tenantId: string | null = null): Promise<string[]> => (await overview.listDead(100, tenantId)).map(conversationOf);

  describe("count", () => {
    /** Of a tenant: two dead, one running, one to be tried again, three waiting. */
    async function addOfEachState(tenantId: string): Promise<void> {
      const job = () => sampleJob({ tenantId });
      await killJobs(queue, [job(), job()]);
      await addJobs(queue, job());
      await claimOnly(queue);
      await addJobs(queue, job());
      await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 3_600 });
      await addJobs(queue, job(), job(), job());
    }

    const EACH_STATE = { dead: 2, retrying: 1, running: 1, waiting: 3 };
    const ofKind = (counts: Record<string, number>) =>
      Object.entries(counts).map(([state, count]) => ({ kind: "summarise", state, count }));

    test("is of nothing when there are no jobs", async () => {
      expect(await overview.count(null)).toEqual([]);
      expect(await overview.count("tenant")).toEqual([]);
    });

    test("is by kind and state, of one tenant or of all", async () => {
      await addOfEachState("acme");
      await queue.claim(100); // what waits is running from here on, so that it is not due while the next ones are made
      await addOfEachState("globex");
      expect(await overview.count("globex")).toEqual(ofKind(EACH_STATE));
      expect(await overview.count("acme")).toEqual(ofKind({ dead: 2, retrying: 1, running: 4 }));
      expect(await overview.count(null)).toEqual(ofKind({ dead: 4, retrying: 2, running: 5, waiting: 3 }));
      expect(await overview.count("acm")).toEqual([]);
      expect(await overview.count("")).toEqual([]);
    });
  });

  describe("pending", () => {
    test("is one while a conversation's job waits, runs or is to be tried again", async () => {
      const job = sampleJob();
      const pending = (): Promise<number> => overview.pending(job);
      expect(await pending()).toBe(0);
      await addJobs(queue, job);
      expect(await pending()).toBe(1);
      const claimed = await claimOnly(queue);
      expect(await pending()).toBe(1);
      await failJob(queue, claimed, { retryAfterSeconds: 3_600 });
      expect(await pending()).toBe(1);
      expect(await overview.pending({ ...job, conversationId: uuidv7() })).toBe(0);
    });

    test("is none when it is dead: nothing more will happen by itself", async () => {
      const job = sampleJob();
      await killJobs(queue, [job]);
      expect(await overview.pending(job)).toBe(0);
    });
  });

  describe("listDead", () => {
    test("shows the newest first, with the error of the last run, the runs and the times", async () => {
      const [first, second] = [sampleJob(), sampleJob()];
      await addJobs(queue, first);
      const { createdAt } = await claimOnly(queue).then(async (claimed) => {
        await failJob(queue, claimed, { retryAfterSeconds: 0 });
        await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 0, isLast: true });
        await failJob(queue, await claimOnly(queue), {}, { code: "model_refused", message: "答 no 'quotes'" });
        return claimed;
      });
      await killJobs(queue, [second]);
      const [newest, oldest, ...others] = await overview.listDead(10, null);
      expect(others).toEqual([]);
      expect(newest).toMatchObject({ job: second, attempts: 2 });
      const failure = { code: "model_refused", message: "答 no 'quotes'" };
      expect(oldest).toEqual({ id: expect.any(String), job: first, failure, attempts: 3, createdAt, diedAt: expect.any(Date) });
      expect(oldest?.diedAt.getTime()).toBeGreaterThanOrEqual(createdAt.getTime());
      expect(await overview.listDead(1, null)).toEqual([newest]);
    });

    test("shows a tenant nothing of another's", async () => {
      const [acme, globex] = [sampleJob({ tenantId: "acme" }), sampleJob({ tenantId: "globex" })];
      await killJobs(queue, [acme, globex]);
      expect(await deadIds("acme")).toEqual([acme.conversationId]);
      expect(await deadIds("globex")).toEqual([globex.conversationId]);
      expect(await deadIds()).toHaveLength(2);
      expect(await deadIds("acm%")).toEqual([]);
    });
  });

  describe("listOf", () => {
    test("has what waits, runs or failed for good of a conversation and of its user's memory agent, oldest first", async () => {
      const dead = sampleJob({ userId: "ada" });
      const remember = { kind: "remember", tenantId: "tenant", userId: "ada" } as const;
      const index = { ...dead, kind: "index_episodes" } as const;
      await killJobs(queue, [dead, sampleJob({ userId: "ada" }), sampleJob(), { ...remember, userId: "bob" }]);
      await addJobs(queue, remember);
      await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 3_600 });
      await addJobs(queue, index, sampleJob({ userId: "ada" }));
      const listed = await overview.listOf(dead);
      expect(listed.map(({ kind, state, attempts, failure }) => ({ kind, state, attempts, failure }))).toEqual([
        { kind: "summarise", state: "dead", attempts: 2, failure: SAMPLE_FAILURE },
        { kind: "remember", state: "retrying", attempts: 1, failure: SAMPLE_FAILURE },
        { kind: "index_episodes", state: "waiting", attempts: 0, failure: null },
      ]);
      for (const { id, createdAt } of listed) expect([typeof id, createdAt instanceof Date]).toEqual(["string", true]);
      for (const stranger of [{ userId: "bob" }, { tenantId: "other" }]) {
        const kinds = (await overview.listOf({ ...dead, ...stranger })).map(({ kind }) => kind);
        expect(kinds).toEqual("userId" in stranger ? ["remember"] : []);
      }
    });

    test("shows a dead job of the memory agent with every conversation of its user, and of no other user or tenant", async () => {
      await killJobs(queue, [{ kind: "remember", tenantId: "tenant", userId: "ada" }]);
      const kinds = async (owner: { tenantId: string; userId: string }) =>
        (await overview.listOf({ ...owner, conversationId: uuidv7() })).map(({ kind }) => kind);
      expect(await kinds({ tenantId: "tenant", userId: "ada" })).toEqual(["remember"]);
      expect(await kinds({ tenantId: "tenant", userId: "ad" })).toEqual([]);
      expect(await kinds({ tenantId: "tenan", userId: "ada" })).toEqual([]);
    });
  });

  describe("retryDead", () => {
    test("of one conversation leaves the others of its user", async () => {
      const [first, second] = [sampleJob({ userId: "ada" }), sampleJob({ userId: "ada" })];
      await killJobs(queue, [first, second]);
      expect(await overview.retryDead({ tenantId: "tenant", userId: "ada", conversationId: first.conversationId })).toBe(1);
      expect((await claimOnly(queue)).job).toEqual(first);
      expect(await deadIds()).toEqual([second.conversationId]);
    });

    test("puts every dead letter back into the queue, where it is due at once and begins anew", async () => {
      const jobs = [sampleJob({ tenantId: "acme" }), sampleJob({ tenantId: "globex" })];
      await killJobs(queue, jobs);
      expect(await overview.retryDead({ tenantId: null })).toBe(2);
      expect(await overview.count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 2 }]);
      const claimed = await queue.claim(10);
      expect(claimed.map(({ job }) => job)).toEqual(expect.arrayContaining(jobs));
      for (const { retryCount, createdAt } of claimed) {
        expect(retryCount).toBe(0);
        expect(Date.now() - createdAt.getTime()).toBeLessThan(60_000);
      }
      expect(await overview.retryDead({ tenantId: null })).toBe(0);
    });

    test("of one tenant or kind leaves the others", async () => {
      const [acme, globex] = [sampleJob({ tenantId: "acme" }), sampleJob({ tenantId: "globex" })];
      await killJobs(queue, [acme, globex]);
      expect(await overview.retryDead({ tenantId: "nobody" })).toBe(0);
      expect(await overview.retryDead({ tenantId: "acme", kind: undefined })).toBe(1);
      expect((await claimOnly(queue)).job).toEqual(acme);
      expect(await deadIds()).toEqual([globex.conversationId]);
      expect(await overview.retryDead({ kind: "summarise", tenantId: null })).toBe(1);
      expect((await claimOnly(queue)).job).toEqual(globex);
    });

    test("puts a job back that is under the same key as before: a second one does not come beside it", async () => {
      const job = sampleJob();
      await killJobs(queue, [job]);
      await overview.retryDead({ tenantId: null });
      await addJobs(queue, job);
      expect(await overview.pending(job)).toBe(1);
      expect(await queue.transaction((_transaction, jobs) => jobs.erase(job))).toBe(1);
    });

    test("just removes a dead letter whose work is queued anew", async () => {
      const [job, other] = [sampleJob(), sampleJob()];
      await killJobs(queue, [job, other]);
      await addJobs(queue, job);
      expect(await overview.retryDead({ tenantId: null })).toBe(1);
      expect(await deadIds()).toEqual([]);
      expect(await overview.count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 2 }]);
    });

    test("takes back what fails again, as a dead letter of its own", async () => {
      const job = sampleJob();
      await killJobs(queue, [job]);
      await overview.retryDead({ tenantId: null });
      await failJob(queue, await claimOnly(queue), { retryAfterSeconds: 0, isLast: true });
      await failJob(queue, await claimOnly(queue), {});
      expect(await deadIds()).toEqual([job.conversationId]);
    });

    test("by two at once moves each once", async () => {
      await killJobs(queue, [sampleJob(), sampleJob(), sampleJob()]);
      const moved = await Promise.all([overview.retryDead({ tenantId: null }), makeJobOverview(database).retryDead({ tenantId: null })]);
      expect(moved.reduce((sum, count) => sum + count, 0)).toBe(3);
      expect(await overview.count(null)).toEqual([{ kind: "summarise", state: "waiting", count: 3 }]);
    });
  });
});
