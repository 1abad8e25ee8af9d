import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, describe } from "@jest/globals";
import { installJobQueue } from "../../../stores/postgres/database/pg-boss.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { describeOnBothDatabases, openTestPostgres } from "../../support/databases/databases.ts";
import { addJobs, sampleJob, useJobs, takeBack } from "../../support/samples/sample-jobs.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { v7 as uuidv7 } from "uuid";
import { jobKey, layerJob, ownerJobKey, type Job } from "../../../stores/jobs/job.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { recordStatements } from "../../support/databases/record-statements.ts";

function unexpected(error: unknown): void {
  throw error;
}
describeOnBothDatabases("a watched job queue", (open) => {
  const at = useJobs(open);
  let calls = 0;
  let stop: (() => Promise<void>) | undefined;
  beforeEach(async () => {
    stop = await at.queue.watch(() => void calls++, unexpected);
    await waitUntil("the first call", () => calls > 0);
    calls = 0;
  });
  afterEach(() => stop?.());

  test("calls when a job is committed, and not before", async () => {
    await makeJobQueue(at.database).transaction(async (_transaction, jobs) => {
      await jobs.add([sampleJob()]);
      await sleep(200);
      expect(calls).toBe(0);
    });
    await waitUntil("the call after the commit", () => calls > 0);
  });

  test("calls no more when the watch has ended", async () => {
    await stop?.();
    stop = undefined;
    calls = 0;
    await at.add(sampleJob());
    await sleep(200);
    expect(calls).toBe(0);
  });

  test("takes over the job of a process that died, with its place in time, and no job that is touched", async () => {
    const [left, kept] = [sampleJob(), sampleJob()];
    await at.add(left);
    const dead = await at.claimOnly();
    await at.add(kept);
    const alive = await at.claimOnly();
    await stop?.();
    await at.database.query({ text: "update pgboss.job set heartbeat_on = heartbeat_on - interval '1 minute'" }); // last heard of long ago
    expect(await at.queue.touch([alive])).toEqual([alive]);
    stop = await at.queue.watch(() => undefined, unexpected);
    const again = await waitUntil("the job is due again", async () => {
      await at.queue.touch([alive]);
      return (await at.queue.claim(10))[0];
    });
    expect(again).toMatchObject({ id: dead.id, job: left, createdAt: dead.createdAt });
    expect(await at.queue.touch([dead])).toEqual([]);
    expect(await at.queue.touch([again, alive])).toEqual([again, alive]);
  });
});
test("a watched job queue calls for what another process has committed", async () => {
  const here = await openTestPostgres();
  const there = await openPostgres(here.url);
  let calls = 0;
  const stop = await makeJobQueue(here).watch(() => void calls++, unexpected);
  await waitUntil("the first call", () => calls > 0);
  calls = 0;
  await addJobs(makeJobQueue(there), sampleJob());
  await waitUntil("the call after the commit elsewhere", () => calls > 0);
  await stop();
  await there.close();
  await here.close();
});
describeOnBothDatabases("installing the job queue again", (open) => {
  const at = useJobs(open);

  test("changes nothing, also several times at once, and keeps the jobs that are there", async () => {
    const { database, queue } = at;
    const [waiting, running] = [sampleJob(), sampleJob()];
    await at.add(running);
    const claimed = await at.claimOnly();
    await at.add(waiting);
    const text = "select name, policy, notify, retry_limit, dead_letter from pgboss.queue order by name";
    const before = await database.query({ text });
    await installJobQueue(database);
    await Promise.all([installJobQueue(database), installJobQueue(database), installJobQueue(database)]);
    expect(await database.query({ text })).toEqual(before);
    expect(await queue.touch([claimed])).toEqual([claimed]);
    expect((await at.claimOnly()).job).toEqual(waiting);
  });
});

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
