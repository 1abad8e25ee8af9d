import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { jobKey, layerJob, ownerJobKey, type Job } from "../../../stores/jobs/job.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { recordStatements } from "../../support/databases/record-statements.ts";
import { sampleJob, takeBack, useJobs } from "../../support/samples/sample-jobs.ts";

/** Owners that become one when their parts are joined, trimmed, folded or taken for patterns. */
const LOOK_ALIKES: Owner[] = (
  [
    ["a", "b"],
    ["b", "a"],
    ["a", "b "],
    ["a", "B"],
    ["a/b", ""],
    ["", "a/b"],
    ['a","b', "b"],
    ["a", 'b"'],
    ["a", "%"],
    ["a", "_"],
    ["a", "b'--"],
  ] as const
).map(([tenantId, userId]) => ({ tenantId, userId }));

describeOnBothDatabases("erasing jobs", (open) => {
  const at = useJobs(open);
  let owner: Owner;
  beforeEach(() => void (owner = { tenantId: "tenant", userId: uuidv7() }));

  const remember = (of = owner): Job => ({ kind: "remember", ...of });
  const sweep: Job = { kind: "erase_episodes", id: uuidv7(), ownerKey: "k", groupIds: [uuidv7()], episodeIds: [] };
  const eraseConversation = (of: OwnedConversation) => at.queue.transaction((_transaction, jobs) => jobs.erase(of));
  const eraseOwner = (of = owner) => at.queue.transaction((_transaction, jobs) => jobs.eraseOwner(of));
  const stored = async (): Promise<Job[]> =>
    (await at.database.query<{ data: Job }>({ text: "select data from pgboss.job order by created_on, id" })).map(({ data }) => data);

  describe.each(["waiting", "running", "retrying", "dead"] as const)("that are %s", (state) => {
    test("of a conversation leaves the others, and counts them", async () => {
      const [job, other] = [sampleJob(), sampleJob()];
      await at.bring(state, job, other);
      expect(await eraseConversation(job)).toBe(1);
      expect(await at.overview.count(null)).toEqual([{ kind: "summarise", state, count: 1 }]);
      expect(await eraseConversation(job)).toBe(0);
      expect(await eraseConversation(other)).toBe(1);
    });

    test("of a user removes every kind, and counts each once", async () => {
      const about = sampleJob(owner);
      await at.bring(state, remember(), about, { ...about, kind: "index_episodes" });
      expect(await eraseOwner()).toBe(3);
      expect(await stored()).toEqual([]);
      expect(await eraseOwner()).toBe(0);
    });
  });

  test("counts a waiting job and the dead letter of the same work as two, in one statement, and takes nothing of another's", async () => {
    const job = sampleJob(owner);
    await at.kill(job, remember());
    await at.add(job, remember());
    const { database: recorded, statements } = recordStatements(at.database);
    await makeJobQueue(recorded).transaction(async (_transaction, jobs) => {
      for (const other of [{ userId: "other" }, { tenantId: "other" }]) expect(await jobs.erase({ ...job, ...other })).toBe(0);
      statements.splice(0);
      expect(await jobs.erase(job)).toBe(2);
      expect(statements).toHaveLength(1);
    });
    expect(await stored()).toContainEqual(remember()); // which is the user's
    expect(await eraseOwner()).toBe(2);
    expect(await stored()).toEqual([]);
  });

  test("of a user leaves the jobs of everybody else, and those that clear the index", async () => {
    await at.add(...LOOK_ALIKES.map(remember), sweep);
    for (const [index, one] of LOOK_ALIKES.entries()) {
      expect(await eraseOwner(one)).toBe(1);
      const left = [...LOOK_ALIKES.slice(index + 1).map(remember), sweep];
      const found = await stored();
      expect(found).toHaveLength(left.length);
      expect(found).toEqual(expect.arrayContaining(left));
    }
  });

  test.each([
    ["conversation", eraseConversation],
    ["user", (job: OwnedConversation) => eraseOwner(job)],
  ])("of a %s ends their claims: nothing comes back", async (_what, erase) => {
    const job = sampleJob(owner);
    const [claimed] = await at.bring("running", job);
    if (!claimed) throw new Error("nothing was claimed");
    expect(await erase(job)).toBe(1);
    expect(await at.queue.touch([claimed])).toEqual([]);
    expect(await at.fail(claimed, { retryAfterSeconds: 0 })).toBe(false);
    expect(await at.settle(claimed)).toBe(false);
    expect(await stored()).toEqual([]);
  });

  test("rolls back with its transaction", async () => {
    await at.add(remember());
    await takeBack(at.queue, async (jobs) => expect(await jobs.eraseOwner(owner)).toBe(1));
    expect(await stored()).toEqual([remember()]);
  });
});

describe("the key of a user's job", () => {
  test("differs for each user, and is a hash", () => {
    expect(new Set(LOOK_ALIKES.map(ownerJobKey)).size).toBe(LOOK_ALIKES.length);
    const key = ownerJobKey({ tenantId: "my tenant", userId: "my user" });
    expect(key).toMatch(/^remember\/[\w-]{43}$/);
    expect(key).toBe(jobKey({ kind: "remember", tenantId: "my tenant", userId: "my user" }));
  });

  test("is the same for all conversations of the user; other jobs of memory have a key for each conversation", () => {
    const owner = { tenantId: "t", userId: "u" };
    expect(layerJob("remember", { ...owner, conversationId: uuidv7() })).toEqual({ kind: "remember", ...owner });
    const job = layerJob("summarise", { ...owner, conversationId: "c" });
    expect([job, jobKey(job)]).toEqual([{ kind: "summarise", ...owner, conversationId: "c" }, "summarise/c"]);
  });
});
