import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { jobKey, layerJob, ownerJobKey, type Job, type RememberJob } from "../../../stores/jobs/job.ts";
import { makeJobOverview, type JobOverview } from "../../../stores/jobs/job-overview.ts";
import { makeJobQueue, type JobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Owner } from "../../../stores/owner.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addJobs, claimOnly, clearJobs, failJob, killJobs, sampleJob, settleJob } from "../../support/samples/sample-jobs.ts";

/** Owners that run into each other when their parts are joined, trimmed, folded or taken for patterns. */
const LOOK_ALIKES: Owner[] = [
  { tenantId: "a", userId: "b" },
  { tenantId: "b", userId: "a" },
  { tenantId: "a", userId: "b " },
  { tenantId: "a", userId: "B" },
  { tenantId: "a/b", userId: "" },
  { tenantId: "", userId: "a/b" },
  { tenantId: 'a","b', userId: "b" },
  { tenantId: "a", userId: 'b"' },
  { tenantId: "a", userId: "%" },
  { tenantId: "a", userId: "_" },
  { tenantId: "a", userId: "b'--" },
];

describe("the key of a user's job", () => {
  test("is of each user another, and holds nothing of what the user is called", () => {
    const keys = LOOK_ALIKES.map(ownerJobKey);
    expect(new Set(keys).size).toBe(LOOK_ALIKES.length);
    const key = ownerJobKey({ tenantId: "my tenant", userId: "my user" });
    expect(key).toMatch(/^remember\/[\w-]{43}$/);
    expect(key).toBe(jobKey({ kind: "remember", tenantId: "my tenant", userId: "my user" }));
  });

  test("is the same whichever conversation gave rise to the job, which names none", () => {
    const [one, other] = [uuidv7(), uuidv7()].map((conversationId) => layerJob("remember", { tenantId: "t", userId: "u", conversationId }));
    expect(one).toEqual({ kind: "remember", tenantId: "t", userId: "u" });
    expect(other).toEqual(one);
    const job = layerJob("summarise", { tenantId: "t", userId: "u", conversationId: "c" });
    expect([job, jobKey(job)]).toEqual([{ kind: "summarise", tenantId: "t", userId: "u", conversationId: "c" }, "summarise/c"]);
  });
});

describeOnBothDatabases("the jobs of a user", (open) => {
  let database: Database;
  let queue: JobQueue;
  let overview: JobOverview;
  let owner: Owner;
  beforeAll(async () => {
    database = await open();
    overview = makeJobOverview(database);
    queue = makeJobQueue(database);
  });
  beforeEach(async () => {
    await clearJobs(database);
    owner = { tenantId: "tenant", userId: uuidv7() };
  });
  afterAll(() => database.close());

  const remember = (of = owner): RememberJob => ({ kind: "remember", ...of });
  const eraseOwner = (of = owner): Promise<number> => queue.transaction((_transaction, jobs) => jobs.eraseOwner(of));
  const stored = async (): Promise<Job[]> =>
    (await database.query<{ data: Job }>({ text: "select data from pgboss.job order by created_on, id" })).map(({ data }) => data);

  describe("remember", () => {
    test("is there once for a user, while it waits, runs and is to be tried again", async () => {
      await addJobs(queue, remember(), remember());
      const claimed = await claimOnly(queue);
      await addJobs(queue, remember());
      expect(await queue.claim(10)).toEqual([]);
      await failJob(queue, claimed, { retryAfterSeconds: 3_600 });
      await addJobs(queue, remember());
      expect(await stored()).toEqual([remember()]);
    });

    test("is there for each user, however alike their names are, and runs beside the others", async () => {
      await addJobs(queue, ...LOOK_ALIKES.map(remember));
      const claimed = await queue.claim(100);
      expect(claimed.map(({ job }) => job)).toEqual(expect.arrayContaining(LOOK_ALIKES.map(remember)));
      expect(claimed).toHaveLength(LOOK_ALIKES.length);
    });

    test("is counted and listed by its tenant when it is dead, and can be tried again by kind", async () => {
      await killJobs(queue, [remember(), sampleJob({ tenantId: owner.tenantId })]);
      expect(await overview.count("tenant")).toContainEqual({ kind: "remember", state: "dead", count: 1 });
      expect((await overview.listDead(10, "tenant")).map(({ job }) => job)).toContainEqual(remember());
      expect(await overview.retryDead({ kind: "remember", tenantId: "tenant" })).toBe(1);
      expect((await claimOnly(queue)).job).toEqual(remember());
    });
  });

  describe("pending", () => {
    const conversation = () => ({ ...owner, conversationId: uuidv7() });

    test("counts the user's job for each conversation of the user, and for nobody else's", async () => {
      const [one, other] = [conversation(), conversation()];
      await addJobs(queue, remember(), { kind: "summarise", ...one }, { kind: "index_episodes", ...one });
      expect([await overview.pending(one), await overview.pending(other)]).toEqual([3, 1]);
      expect(await overview.pending({ ...other, userId: `${owner.userId} ` })).toBe(0);
      expect(await overview.pending({ ...other, tenantId: "other" })).toBe(0);
    });

    test("goes on while it waits, runs or is to be tried again, and ends when it is done or dead", async () => {
      const about = conversation();
      const counts: number[] = [];
      const look = async (): Promise<unknown> => counts.push(await overview.pending(about));
      await addJobs(queue, remember());
      await look();
      const claimed = await claimOnly(queue);
      await look();
      await failJob(queue, claimed, { retryAfterSeconds: 0 });
      await look();
      await settleJob(queue, await claimOnly(queue));
      await look();
      await killJobs(queue, [remember()]);
      await look();
      expect(counts).toEqual([1, 1, 1, 0, 0]);
    });

    test("does not count a sweep of the index", async () => {
      const about = conversation();
      await addJobs(queue, { kind: "erase_episodes", id: about.conversationId, ownerKey: "k", groupIds: [], episodeIds: [] });
      expect(await overview.pending(about)).toBe(0);
    });
  });

  describe("eraseOwner", () => {
    /** Brings one job into the state; returns what is claimed. */
    async function bring(job: Job, state: string) {
      if (state === "dead") return void (await killJobs(queue, [job]));
      await addJobs(queue, job);
      if (state === "waiting") return;
      const claimed = await claimOnly(queue);
      if (state === "retrying") await failJob(queue, claimed, { retryAfterSeconds: 3_600 });
      return claimed;
    }

    test.each(["waiting", "running", "retrying", "dead"])(
      "removes every kind of %s job of the user, and counts each once",
      async (state) => {
        const about = { ...owner, conversationId: uuidv7() };
        for (const job of [remember(), { kind: "summarise" as const, ...about }, { kind: "index_episodes" as const, ...about }]) {
          await bring(job, state);
          if (state === "waiting") continue;
          await queue.claim(10); // so that nothing is due while the next one is brought there
        }
        expect(await eraseOwner()).toBe(3);
        expect(await stored()).toEqual([]);
        expect(await eraseOwner()).toBe(0);
      },
    );

    test("counts a waiting job and the dead letter of the same work as two", async () => {
      await killJobs(queue, [remember()]);
      await addJobs(queue, remember());
      expect(await eraseOwner()).toBe(2);
      expect(await stored()).toEqual([]);
    });

    test("leaves the jobs of everybody else, and those that clear the index", async () => {
      const sweep: Job = { kind: "erase_episodes", id: uuidv7(), ownerKey: "k", groupIds: [uuidv7()], episodeIds: [] };
      await addJobs(queue, ...LOOK_ALIKES.map(remember), sweep);
      for (const [index, one] of LOOK_ALIKES.entries()) {
        expect(await eraseOwner(one)).toBe(1);
        const left = [...LOOK_ALIKES.slice(index + 1).map(remember), sweep];
        const found = await stored();
        expect(found).toHaveLength(left.length);
        expect(found).toEqual(expect.arrayContaining(left));
      }
    });

    test("brings nothing back: whoever has claimed one neither settles nor fails it", async () => {
      await addJobs(queue, remember());
      const claimed = await claimOnly(queue);
      await eraseOwner();
      expect(await queue.touch([claimed])).toEqual([]);
      expect(await failJob(queue, claimed, { retryAfterSeconds: 0 })).toBe(false);
      expect(await settleJob(queue, claimed)).toBe(false);
      expect(await stored()).toEqual([]);
    });

    test("falls with its transaction", async () => {
      await addJobs(queue, remember());
      const failing = queue.transaction(async (_transaction, jobs) => {
        expect(await jobs.eraseOwner(owner)).toBe(1);
        throw new Error("thought better of it");
      });
      await expect(failing).rejects.toThrow("thought better of it");
      expect(await stored()).toEqual([remember()]);
    });

    test("is not what an erase of a conversation does: the user's job stays", async () => {
      const about = sampleJob(owner);
      await addJobs(queue, about, remember());
      expect(await queue.transaction((_transaction, jobs) => jobs.erase(about))).toBe(1);
      expect(await stored()).toEqual([remember()]);
    });
  });
});
