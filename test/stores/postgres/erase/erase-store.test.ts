import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Job } from "../../../../stores/jobs/job.ts";
import type { Owner } from "../../../../turn/owner.ts";
import { episodeGroupId, ownerKey } from "../../../../stores/index-keys.ts";
import { teach } from "../../../support/samples/core-memory.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { clearJobs } from "../../../support/samples/sample-jobs.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { rememberConversation, type RememberedConversation } from "../../../support/samples/user-with-memory.ts";

/** Everything that is kept of one conversation, by its word; jobs are counted by the conversation's id. */
const WHOLE = {
  conversations: 1,
  messages: 4,
  conversation_summaries: 1,
  conversation_summary_versions: 1,
  archived_memories: 1,
  core_memory_sections: 1,
};

describeStores("the erase store", ({ database, erases, turns, coreMemory, begin }) => {
  let owner: Owner;
  let first: RememberedConversation;
  let second: RememberedConversation;
  let words: { first: string; second: string };
  beforeEach(async () => {
    await clearJobs(database);
    await database.query({ text: "delete from erase_markers" });
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    words = { first: `canary${uuidv7()}`, second: `canary${uuidv7()}` };
    first = await rememberConversation(database, owner, words.first);
    second = await rememberConversation(database, owner, words.second, "goals");
  });

  /** Rows of our own tables that hold the word, by table. */
  async function holding(word: string): Promise<Record<string, number>> {
    const found = Object.entries(await tablesHolding(database, word)).map(([name, count]) => [name.replace("public.", ""), count]);
    return Object.fromEntries(found) as Record<string, number>;
  }
  const markers = () =>
    database.query<{ group_id: string | null }>({ text: "select owner_key, group_id, episode_id from erase_markers order by id" });
  const jobs = async () =>
    (await database.query<{ data: Job }>({ text: "select data from pgboss.job order by created_on, id" })).map(({ data }) => data);
  const sweeps = async () => (await jobs()).filter(({ kind }) => kind === "erase_episodes");

  test("what is to be erased is there before: the helper of these tests writes to every place", async () => {
    expect(await holding(words.first)).toEqual({ ...WHOLE, core_memory_versions: 1, memory_operations: 3 });
  });

  describe("conversation", () => {
    test("takes all of it, counts it, and leaves the user's other conversation whole", async () => {
      const before = await holding(words.second);
      // Jobs: summarise and index_episodes; the memory agent's job is the user's.
      const counts = { messages: 4, summaries: 1, coreMemorySections: 1, memoryOperations: 3, jobs: 2 };
      expect((await erases.conversation(first))?.erased).toEqual(counts);
      expect(await holding(words.first)).toEqual({});
      expect(await tablesHolding(database, first.conversationId)).toEqual({});
      expect(await holding(words.second)).toEqual(before);
      expect(await jobs()).toContainEqual({ kind: "remember", ...owner });
      expect(await jobs()).toContainEqual({ kind: "summarise", ...owner, conversationId: second.conversationId });
    });

    test("leaves a marker and two jobs for its group in the index: hashes and ids, no text, no user id", async () => {
      const rows = await erases.conversation(first);
      const key = ownerKey(owner.tenantId, owner.userId);
      const groupIds = [episodeGroupId(first.conversationId)];
      const entries = { ownerKey: key, groupIds, episodeIds: [] };
      expect(rows?.entries).toEqual(entries);
      expect(await markers()).toEqual([{ owner_key: key, group_id: groupIds[0], episode_id: null }]);
      const sweep = { kind: "erase_episodes", id: expect.any(String), ...entries };
      expect(await sweeps()).toEqual([sweep, sweep]);
    });

    test("gives null for another's, and leaves no marker, no job, and everything there", async () => {
      const before = [await holding(words.first), await jobs()];
      for (const fields of [{ tenantId: "other" }, { userId: `${owner.userId} ` }, { conversationId: uuidv7() }])
        expect(await erases.conversation({ ...first, ...fields })).toBeNull();
      expect([await holding(words.first), await jobs()]).toEqual(before);
      expect(await markers()).toEqual([]);
    });
  });

  describe("user", () => {
    test("takes everything, in every table, and counts it", async () => {
      const counts = { messages: 8, summaries: 2, coreMemorySections: 2, memoryOperations: 6, jobs: 5 };
      expect((await erases.user(owner)).erased).toEqual(counts);
      for (const trace of [words.first, words.second, owner.userId, owner.tenantId, first.conversationId, second.memoryId])
        expect(await tablesHolding(database, trace)).toEqual({});
    });

    test("leaves other users whole, also of the same name in another tenant, and of a name that is its own and more", async () => {
      const others: Owner[] = [
        { ...owner, tenantId: `${owner.tenantId} ` },
        { ...owner, userId: `${owner.userId} ` },
        { tenantId: owner.userId, userId: owner.tenantId },
      ];
      const ofOthers = others.map(() => `canary${uuidv7()}`);
      for (const [index, other] of others.entries()) await rememberConversation(database, other, ofOthers[index] ?? "");
      const isOthers = (job: Job) =>
        others.some((other) => "userId" in job && job.userId === other.userId && job.tenantId === other.tenantId);
      const look = async () => [await Promise.all(ofOthers.map(holding)), (await jobs()).filter(isOthers)];
      const before = await look();
      await erases.user(owner);
      expect(await look()).toEqual(before);
      expect(before[1]).toHaveLength(9);
    });

    test("leaves a marker of the whole and one of each group, and two jobs that clear them", async () => {
      const key = ownerKey(owner.tenantId, owner.userId);
      const groupIds = [first, second].map(({ conversationId }) => episodeGroupId(conversationId));
      const { entries } = await erases.user(owner);
      expect(entries).toEqual({ ownerKey: key, groupIds: expect.arrayContaining(groupIds), episodeIds: [] });
      expect(entries?.groupIds).toHaveLength(2);
      const marked = await markers();
      expect(marked).toHaveLength(3);
      for (const group_id of [null, ...groupIds]) expect(marked).toContainEqual({ owner_key: key, group_id, episode_id: null });
      expect(await sweeps()).toHaveLength(2);
    });

    test("leaves a marker and nothing else when nothing is there", async () => {
      const nobody = { tenantId: "tenant", userId: uuidv7() };
      const { erased } = await erases.user(nobody);
      expect(erased).toEqual({ messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 });
      expect(await markers()).toEqual([{ owner_key: ownerKey(nobody.tenantId, nobody.userId), group_id: null, episode_id: null }]);
      expect(await tablesHolding(database, nobody.userId)).toEqual({});
    });
  });

  test.each([
    ["conversation", () => erases.conversation(first)],
    ["user", () => erases.user(owner)],
  ])("an erase of a %s takes a running turn, which ends with nothing written; the next begins a new conversation", async (_what, erase) => {
    const turn = await begin({ ...owner, sessionId: first.sessionId });
    expect((await erase())?.erased.messages).toBeGreaterThan(4);
    expect(await turns.finish(turn, sampleAnswer({ content: words.first }), [{ kind: "summarise", ...first }])).toBe("gone");
    expect(await turns.renew(turn, 1_000)).toBe(false);
    expect(await tablesHolding(database, first.conversationId)).toEqual({});
    expect((await begin({ ...owner, sessionId: first.sessionId })).conversationId).not.toBe(first.conversationId);
  });

  test("markers go after thirty days, by the next erase of anybody", async () => {
    await erases.user(owner);
    await database.query({ text: "update erase_markers set erased_at = erased_at - interval '31 days' where group_id is not null" });
    await erases.user({ tenantId: "tenant", userId: uuidv7() });
    expect((await markers()).map(({ group_id }) => group_id)).toEqual([null, null]);
  });

  // The new version is as new as the last one that is left, which may be older than what was said before it.
  test("what is erased takes back how new a section is only as far as nothing else says otherwise", async () => {
    const from = { conversationId: second.conversationId, section: "constraints" };
    const [today, longAgo] = [new Date(Date.UTC(2026, 0, 1)), new Date(Date.UTC(2020, 0, 1))];
    await teach(database, owner, { ...from, content: "Eats no fish.", saidAt: today });
    await teach(database, owner, { ...from, content: "Eats no fish.\nOr meat.", saidAt: longAgo, actor: "import" });
    await teach(database, owner, { ...from, conversationId: first.conversationId, content: "Eats no fish.\nOr meat.\nOr eggs." });
    await erases.conversation(first);
    const { sections } = await coreMemory.load(owner);
    expect(sections.find(({ section }) => section === "constraints")?.saidAt).toEqual(today);
  });
});
