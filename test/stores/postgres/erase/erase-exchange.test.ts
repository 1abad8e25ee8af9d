import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../turn/owner.ts";
import type { Erased } from "../../../../stores/postgres/erase/erase-exchange.ts";
import { ownerKey } from "../../../../stores/index-keys.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { sampleSummary } from "../../../support/databases/stored-conversation.ts";
import { operationsOf, teach } from "../../../support/samples/core-memory.ts";
import { clearJobs } from "../../../support/samples/sample-jobs.ts";
import { EXPIRED_LEASE_MS, sampleAnswer } from "../../../support/samples/sample-turns.ts";
import { rememberConversation, storeExchange, type RememberedConversation } from "../../../support/samples/user-with-memory.ts";

const NOTHING: Erased = { messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 0, jobs: 0 };

describeStores("erasing one exchange or one archived memory", ({ database, erases, turns, begin, complete, ...stores }) => {
  let owner: Owner;
  let conversation: RememberedConversation;
  let word: string;
  let messageId: string;
  beforeEach(async () => {
    await clearJobs(database);
    await database.query({ text: "delete from erase_markers" });
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    conversation = await rememberConversation(database, owner, word);
    messageId = conversation.exchanges[0]?.messageId ?? "";
  });

  const stored = async ({ conversationId }: { conversationId: string } = conversation): Promise<string[]> =>
    (await stores.messagesOf({ ...owner, conversationId })).map(({ id }) => id);
  const messageCount = () => stores.messageCountOf(conversation);
  const idsOf = (...numbers: number[]): string[] =>
    numbers.flatMap((number) => [conversation.exchanges[number]?.messageId ?? "", conversation.exchanges[number]?.answerId ?? ""]);
  const erase = async (id = messageId) => (await erases.episode(owner, id))?.erased;
  const here = () => ({ ...owner, sessionId: conversation.sessionId });
  const beginLate = () => begin({ ...here(), leaseMs: EXPIRED_LEASE_MS });
  const jobs = async (kind: string) =>
    (await database.query<{ data: object }>({ text: "select data from pgboss.job where data->>'kind' = $1", values: [kind] })).map(
      ({ data }) => data,
    );

  test("takes question and answer, what they taught and archived, and counts it; the other exchange stays", async () => {
    expect(await erase()).toEqual({ ...NOTHING, messages: 2, summaries: 1, coreMemorySections: 1, memoryOperations: 3 });
    expect(await stored()).toEqual(idsOf(1));
    expect(await messageCount()).toBe(2);
    const holding = await tablesHolding(database, messageId);
    expect(holding).toMatchObject({ "public.erase_markers": 1 });
    expect(holding).not.toHaveProperty(["public.turns"]);
    expect(await tablesHolding(database, word)).toEqual({ "public.conversations": 1, "public.messages": 2 }); // the session's name is the word, too
    expect(await erases.episode(owner, messageId)).toBeNull();
  });

  test("leaves all memory of an exchange that taught nothing, and has the summary made anew", async () => {
    expect(await erase(conversation.exchanges[1]?.messageId)).toEqual({ ...NOTHING, messages: 2, summaries: 1 });
    expect(await stored()).toEqual(idsOf(0));
    const known = { "public.core_memory_sections": 1, "public.memory_operations": 1 };
    expect(await tablesHolding(database, `Knows ${word}`)).toMatchObject(known);
    expect(await tablesHolding(database, `Memory of ${word}`)).toMatchObject({ "public.archived_memories": 1 });
    expect(await tablesHolding(database, `Summary of ${word}`)).toEqual({});
  });

  test("takes an archived memory alone, with the operation that archived it", async () => {
    const { erased, entries } = (await erases.episode(owner, conversation.memoryId)) ?? {};
    expect(erased).toEqual({ ...NOTHING, memoryOperations: 1 });
    expect(entries).toMatchObject({ groupIds: [], episodeIds: [conversation.memoryId] });
    expect(await stored()).toEqual(idsOf(0, 1));
    expect(await tablesHolding(database, `Memory of ${word}`)).toEqual({});
    expect(await tablesHolding(database, `Knows ${word}`)).toMatchObject({ "public.core_memory_sections": 1 });
  });

  test("leaves a marker for each episode and two jobs that take them out of the index: ids and a hash only", async () => {
    const { entries } = (await erases.episode(owner, messageId)) ?? {};
    const key = ownerKey(owner.tenantId, owner.userId);
    expect(entries).toEqual({ ownerKey: key, groupIds: [], episodeIds: [messageId, conversation.memoryId] });
    const markers = await database.query({ text: "select owner_key, group_id, episode_id from erase_markers order by id" });
    expect(markers).toEqual([messageId, conversation.memoryId].map((episode_id) => ({ owner_key: key, group_id: null, episode_id })));
    const sweep = { kind: "erase_episodes", id: expect.any(String), ...entries };
    expect(await jobs("erase_episodes")).toEqual([sweep, sweep]);
  });

  test("is refused while the conversation answers, and takes nothing; it is not once the lease ran out", async () => {
    const running = await begin(here());
    const before = await tablesHolding(database, word);
    await expect(erase()).rejects.toMatchObject({ code: "conversation_busy" });
    expect(await tablesHolding(database, word)).toEqual(before);
    expect(await turns.renew(running, EXPIRED_LEASE_MS)).toBe(true);
    expect(await erase()).toMatchObject({ messages: 2 });
  });

  test("gives null for an answer's id, an unknown one and another's, and takes nothing", async () => {
    const before = await tablesHolding(database, word);
    const [, answerId = ""] = idsOf(0);
    for (const id of [answerId, uuidv7(), conversation.conversationId]) expect(await erases.episode(owner, id)).toBeNull();
    for (const id of [messageId, conversation.memoryId]) {
      for (const other of [{ userId: `${owner.userId} ` }, { tenantId: "other" }])
        expect(await erases.episode({ ...owner, ...other }, id)).toBeNull();
    }
    expect(await tablesHolding(database, word)).toEqual(before);
    expect(await database.query({ text: "select 1 from erase_markers" })).toEqual([]);
  });

  // Also of a reason that quotes what the section said.
  test("takes what a section said out of the operations and reasons of others", async () => {
    const secret = `secret ${word}`;
    const from = { section: "goals", conversationId: conversation.conversationId, triggerMessageIds: [messageId] };
    await teach(database, owner, { ...from, content: secret });
    const { conversationId } = await storeExchange(database, owner, "another session", "something else");
    await teach(database, owner, { section: "goals", content: "To sail.", reason: "Said so.", conversationId });
    await teach(database, owner, { section: "goals", content: "To fly.", reason: `It contradicts "${secret}".`, conversationId });
    await erase();
    expect(await tablesHolding(database, secret)).toEqual({});
    expect(await operationsOf(database, owner)).toMatchObject([
      { oldValue: null, newValue: "To sail.", reason: "Said so." },
      { oldValue: "To sail.", newValue: "To fly.", reason: null },
    ]);
  });

  describe("a summary", () => {
    test("that covered it is made anew from the beginning, by a job; one that did not stays", async () => {
      const later = await storeExchange(database, owner, conversation.sessionId, word);
      await clearJobs(database);
      const before = await stores.summaries.find(conversation);
      expect(await erase(later.messageId)).toMatchObject({ messages: 2, summaries: 0 });
      expect(await stores.summaries.find(conversation)).toEqual(before);
      expect(await jobs("summarise")).toEqual([]);

      expect(await stores.summaries.findVersion(conversation, 1)).toEqual(before);
      expect(await erase()).toMatchObject({ messages: 2, summaries: 1 });
      expect(await stores.summaries.findVersion(conversation, 1)).toBeNull();
      expect(await stores.summaries.find(conversation)).toBeNull();
      const { messages, summary: emptied } = await stores.summaries.readBacklog(conversation, 40);
      expect(emptied).toMatchObject({ text: "", version: 2, coveredMessageCount: 0, tokenCount: 0 });
      expect(messages.map(({ id }) => id)).toEqual(idsOf(1));
      expect(await jobs("summarise")).toEqual([{ kind: "summarise", ...owner, conversationId: conversation.conversationId }]);
      const old = sampleSummary(messages[0] ?? { createdAt: new Date(), id: messageId }, { readVersion: 1 });
      expect(await stores.summaries.save(conversation, old)).toBe(false); // by one who had read what is erased
    });

    test.each([
      ["first", "another session"],
      ["next", undefined],
    ])("of erased messages that is being written, the %s, is not saved", async (_which, sessionId) => {
      const text = `late ${uuidv7()}`;
      const late = await storeExchange(database, owner, sessionId ?? conversation.sessionId, text);
      const of = { ...owner, conversationId: late.conversationId };
      const { summary, messages, rewrites } = await stores.summaries.readBacklog(of, 40);
      const last = messages.at(-1);
      if (!last) throw new Error("nothing was read");
      await erase(late.messageId);
      const written = sampleSummary(last, { readVersion: summary?.version ?? 0, text, rewrites });
      expect(await stores.summaries.save(of, written)).toBe(false);
      expect(await tablesHolding(database, text)).toEqual({});
    });
  });

  describe("the answer that goes with a question", () => {
    test("is taken when it was cut short; a question without one goes alone, before another exchange too", async () => {
      const turnId = uuidv7();
      const cut = await complete({ ...here(), turnId }, sampleAnswer({ completed: false, metadata: { turn_id: turnId } }));
      const none = await complete(here(), null);
      const next = await storeExchange(database, owner, conversation.sessionId, word);
      expect(await erase(none.messageId)).toMatchObject({ messages: 1 });
      expect(await erase(cut.messageId)).toMatchObject({ messages: 2 });
      expect(await stored()).toEqual([...idsOf(0, 1), next.messageId, next.answerId]);
      expect(await messageCount()).toBe(6);
    });

    test("is not stored afterwards by a turn whose lease had run out and that had not ended", async () => {
      const late = await beginLate();
      expect(await erase(late.messageId)).toMatchObject({ messages: 1 });
      await clearJobs(database);
      expect(await turns.finish(late, sampleAnswer({ userMessageId: late.messageId }), [{ kind: "remember", ...owner }])).toBe("gone");
      expect(await messageCount()).toBe(4);
      expect(await jobs("remember")).toEqual([]);
      expect(await stored()).toEqual(idsOf(0, 1));
    });

    test("is that of the same turn, and not one that came late, behind the next question", async () => {
      const late = await beginLate();
      const next = await begin(here());
      const half = sampleAnswer({ metadata: { turn_id: late.turnId } });
      expect(await turns.finish(late, half)).toBe("superseded");
      expect(await turns.finish(next, sampleAnswer({ metadata: { turn_id: next.turnId } }))).toBe("stored");
      await erase(next.messageId); // an episode of the index
      expect(await stored()).toEqual([...idsOf(0, 1), late.messageId, half.messageId]);
    });

    test("is that of the same turn, although a message was imported in between", async () => {
      const [, second] = conversation.exchanges;
      const text = "select created_at from messages where id = $1";
      const [asked] = await database.query<{ created_at: Date }>({ text, values: [second?.messageId ?? ""] });
      const messages = [{ role: "user" as const, content: "imported", createdAt: asked?.created_at ?? null, metadata: {} }];
      await stores.imports.import({ ...here(), messages, jobKinds: [] });
      await erase(second?.messageId);
      expect(await stored()).toHaveLength(3);
      expect(await stored()).not.toContain(second?.answerId);
    });

    test("is the one right behind the question among imported messages, and not one of a turn", async () => {
      const messages = (["user", "assistant", "user", "user", "assistant"] as const).map((role, minute) => {
        return { role, content: `imported ${minute}`, createdAt: new Date(Date.UTC(2020, 0, 1, 12, minute)), metadata: {} };
      });
      const sessionId = "an imported one";
      const imported = await stores.imports.import({ ...owner, sessionId, messages, jobKinds: [] });
      const own = await storeExchange(database, owner, sessionId, "something else");
      const [first, , alone, last] = await stored(imported);
      expect(await erase(alone)).toMatchObject({ messages: 1 });
      for (const asked of [first, last]) expect(await erase(asked)).toMatchObject({ messages: 2 });
      expect(await stored(imported)).toEqual([own.messageId, own.answerId]);
    });
  });
});
