import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeJobOverview } from "../../../stores/jobs/job-overview.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { conversationOf, SAMPLE_FAILURE, sampleJob, useJobs } from "../../support/samples/sample-jobs.ts";

const ADA = { tenantId: "tenant", userId: "ada" };
const REMEMBER = { kind: "remember", ...ADA } as const;

describeOnBothDatabases("the overview of jobs", (open) => {
  const at = useJobs(open);
  const deadIds = async (tenantId: string | null = null) => (await at.overview.listDead(100, tenantId)).map(conversationOf);
  const count = (state: string, number: number) => ({ kind: "summarise", state, count: number });

  test("counts by kind and state, of one tenant or of all", async () => {
    expect(await at.overview.count(null)).toEqual([]);
    for (const tenantId of ["acme", "globex"]) {
      const jobs = (length: number) => Array.from({ length }, () => sampleJob({ tenantId }));
      await at.bring("dead", ...jobs(2));
      await at.bring("running", ...jobs(4));
      await at.bring("retrying", ...jobs(1));
    }
    await at.add(sampleJob({ tenantId: "globex" }));
    expect(await at.overview.count("globex")).toEqual([count("dead", 2), count("retrying", 1), count("running", 4), count("waiting", 1)]);
    expect(await at.overview.count("acme")).toEqual([count("dead", 2), count("retrying", 1), count("running", 4)]);
    expect(await at.overview.count(null)).toEqual([count("dead", 4), count("retrying", 2), count("running", 8), count("waiting", 1)]);
    for (const nobody of ["acm", ""]) expect(await at.overview.count(nobody)).toEqual([]);
  });

  describe("hasten", () => {
    test.each([
      ["a conversation", sampleJob(ADA)],
      ["a user", REMEMBER],
    ])("counts the job of %s while it waits, runs or is to be tried again, not when it is done or dead", async (_whose, job) => {
      const conversation = { ...ADA, conversationId: conversationOf({ job }) || uuidv7() };
      const counts: number[] = [];
      const look = async (): Promise<unknown> => counts.push(await at.overview.hasten(conversation));
      await look();
      await at.add(job);
      await look();
      const claimed = await at.claimOnly();
      await look();
      await at.fail(claimed, { retryAfterSeconds: 0 });
      await look();
      await at.settle(await at.claimOnly());
      await look();
      await at.kill(job);
      await look();
      expect(counts).toEqual([0, 1, 1, 1, 0, 0]);
    });

    test("counts the user's job for each conversation of the user, nobody else's, and no sweep of the index", async () => {
      const [one, other] = [sampleJob(ADA), sampleJob(ADA)];
      await at.add(REMEMBER, one, { ...one, kind: "index_episodes" });
      await at.add({ kind: "erase_episodes", id: one.conversationId, ownerKey: "k", groupIds: [], episodeIds: [] });
      expect([await at.overview.hasten(one), await at.overview.hasten(other)]).toEqual([3, 1]);
      for (const fields of [{ userId: "ada " }, { tenantId: "other" }]) expect(await at.overview.hasten({ ...other, ...fields })).toBe(0);
    });
  });

  test("hasten makes the waiting jobs of a conversation and its user due, those after a failure not", async () => {
    const [one, other, failing] = [sampleJob(ADA), sampleJob({ tenantId: "tenant", userId: "bob" }), sampleJob(ADA)];
    await at.bring("retrying", failing);
    await at.queue.transaction((_transaction, jobs) => jobs.add([one, other, REMEMBER], () => 60));
    expect(await at.queue.claim(10)).toEqual([]);
    expect(await at.overview.hasten(failing)).toBe(2);
    expect(await at.overview.hasten(one)).toBe(2);
    const claimed = await at.queue.claim(10);
    expect(claimed.map(({ job }) => job)).toEqual(expect.arrayContaining([one, REMEMBER]));
    expect(claimed).toHaveLength(2);
    expect(await at.overview.hasten(one)).toBe(2);
  });

  describe("listDead", () => {
    test("shows the newest first, with the error of the last run, the runs and the times", async () => {
      const [first, second] = [sampleJob(), sampleJob()];
      const failure = { code: "model_refused", message: "答 no 'quotes'" };
      await at.add(first);
      const claimed = await at.claimOnly();
      await at.fail(claimed, { retryAfterSeconds: 0 });
      await at.fail(await at.claimOnly(), { retryAfterSeconds: 0, isLast: true });
      await at.bury(await at.claimOnly(), failure);
      await at.kill(second);
      const [newest, oldest, ...others] = await at.overview.listDead(10, null);
      expect(others).toEqual([]);
      expect(newest).toMatchObject({ job: second, attempts: 2 });
      const { createdAt } = claimed;
      expect(oldest).toEqual({ id: expect.any(String), job: first, failure, attempts: 3, createdAt, diedAt: expect.any(Date) });
      expect(oldest?.diedAt.getTime()).toBeGreaterThanOrEqual(createdAt.getTime());
      expect(await at.overview.listDead(1, null)).toEqual([newest]);
    });

    test("shows a tenant nothing of another's", async () => {
      const [acme, globex] = [sampleJob({ tenantId: "acme" }), sampleJob({ tenantId: "globex" })];
      await at.kill(acme, globex);
      expect(await deadIds("acme")).toEqual([acme.conversationId]);
      expect(await deadIds("globex")).toEqual([globex.conversationId]);
      expect(await deadIds()).toHaveLength(2);
      expect(await deadIds("acm%")).toEqual([]);
    });
  });

  describe("listOf", () => {
    test("has what waits, runs or failed for good of a conversation and of its user's memory agent, oldest first", async () => {
      const dead = sampleJob(ADA);
      await at.kill(dead, sampleJob(ADA), sampleJob(), { ...REMEMBER, userId: "bob" });
      await at.bring("retrying", REMEMBER);
      await at.add({ ...dead, kind: "index_episodes" }, sampleJob(ADA));
      const listed = await at.overview.listOf(dead);
      const common = { id: expect.any(String), createdAt: expect.any(Date) };
      expect(listed).toEqual([
        { ...common, kind: "summarise", state: "dead", attempts: 2, failure: SAMPLE_FAILURE },
        { ...common, kind: "remember", state: "retrying", attempts: 1, failure: SAMPLE_FAILURE },
        { ...common, kind: "index_episodes", state: "waiting", attempts: 0, failure: null },
      ]);
    });

    test.each([
      ["its user", {}, ["remember"]],
      ["another user", { userId: "ad" }, []],
      ["another tenant", { tenantId: "tenan" }, []],
    ])("shows with a conversation of %s what is dead of the memory agent", async (_whose, fields, kinds) => {
      await at.kill(REMEMBER);
      expect((await at.overview.listOf({ ...ADA, ...fields, conversationId: uuidv7() })).map(({ kind }) => kind)).toEqual(kinds);
    });
  });

  describe("retryDead", () => {
    const retryAll = () => at.overview.retryDead({ tenantId: null });

    test("puts every dead letter back into the queue, where it is due at once and begins anew", async () => {
      const jobs = [sampleJob({ tenantId: "acme" }), sampleJob({ tenantId: "globex" })];
      await at.kill(...jobs);
      expect(await retryAll()).toBe(2);
      expect(await at.overview.count(null)).toEqual([count("waiting", 2)]);
      const claimed = await at.queue.claim(10);
      expect(claimed.map(({ job }) => job)).toEqual(expect.arrayContaining(jobs));
      for (const { retryCount, createdAt } of claimed) {
        expect(retryCount).toBe(0);
        expect(Date.now() - createdAt.getTime()).toBeLessThan(60_000);
      }
      expect(await retryAll()).toBe(0);
    });

    const [acme, globex] = [sampleJob({ tenantId: "acme", userId: "ada" }), sampleJob({ tenantId: "globex" })];
    test.each([
      ["one tenant", acme, { tenantId: "acme", kind: undefined }],
      ["one conversation", acme, { tenantId: null, conversationId: acme.conversationId }],
      ["one user", acme, { tenantId: null, userId: "ada" }],
      ["one kind", REMEMBER, { tenantId: null, kind: REMEMBER.kind }],
    ])("of %s leaves the others", async (_which, job, which) => {
      await at.kill(job, globex);
      expect(await at.overview.count(job.tenantId)).toEqual([{ kind: job.kind, state: "dead", count: 1 }]);
      expect(await at.overview.retryDead({ tenantId: "nobody" })).toBe(0);
      expect(await at.overview.retryDead(which)).toBe(1);
      expect((await at.claimOnly()).job).toEqual(job);
      expect(await deadIds()).toEqual([globex.conversationId]);
    });

    test("drops a dead letter whose work is queued anew", async () => {
      const [job, other] = [sampleJob(), sampleJob()];
      await at.kill(job, other);
      await at.add(job);
      expect(await retryAll()).toBe(1);
      expect(await deadIds()).toEqual([]);
      expect(await at.overview.count(null)).toEqual([count("waiting", 2)]);
    });

    test("puts a job back under its key: no second one comes beside it, and what fails again is a dead letter", async () => {
      const job = sampleJob();
      await at.kill(job);
      await retryAll();
      await at.add(job);
      expect(await at.overview.hasten(job)).toBe(1);
      await at.fail(await at.claimOnly(), { retryAfterSeconds: 0, isLast: true });
      await at.bury(await at.claimOnly());
      expect(await deadIds()).toEqual([job.conversationId]);
    });

    test("by two at once moves each once", async () => {
      await at.kill(sampleJob(), sampleJob(), sampleJob());
      const [one, other] = await Promise.all([retryAll(), makeJobOverview(at.database).retryDead({ tenantId: null })]);
      expect(one + other).toBe(3);
      expect(await at.overview.count(null)).toEqual([count("waiting", 3)]);
    });
  });
});
