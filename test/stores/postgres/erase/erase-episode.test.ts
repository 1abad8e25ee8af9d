import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../stores/owner.ts";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeEraseStore, type EraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import { makeSummaryStore } from "../../../../stores/postgres/memory/summary-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { ownerKey } from "../../../../stores/search/index-keys.ts";
import { operationsOf, teach } from "../../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { clearJobs } from "../../../support/samples/sample-jobs.ts";
import { beginFreely, EXPIRED_LEASE_MS, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { sampleSummary } from "../../../support/databases/stored-conversation.ts";
import { rememberConversation, storeExchange, type RememberedConversation } from "../../../support/samples/user-with-memory.ts";

describeOnBothDatabases("erasing one exchange or one archived memory", (open) => {
  let database: Database;
  let erases: EraseStore;
  let turns: TurnStore;
  let owner: Owner;
  let conversation: RememberedConversation;
  let word: string;
  let messageId: string;
  beforeAll(async () => {
    database = await open();
    erases = makeEraseStore(database);
    turns = makeTurnStore(database);
  });
  beforeEach(async () => {
    await clearJobs(database);
    await database.query({ text: "delete from erase_markers" });
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    conversation = await rememberConversation(database, owner, word);
    messageId = conversation.exchanges[0]?.messageId ?? "";
  });
  afterAll(() => database.close());

  const stored = async (): Promise<string[]> => {
    const text = "select id from messages where conversation_id = $1 order by created_at, id";
    return (await database.query<{ id: string }>({ text, values: [conversation.conversationId] })).map(({ id }) => id);
  };
  const messageCount = async () => (await makeConversationStore(database).find(owner, conversation.conversationId))?.messageCount;
  const idsOf = (...numbers: number[]): string[] =>
    numbers.flatMap((number) => [conversation.exchanges[number]?.messageId ?? "", conversation.exchanges[number]?.answerId ?? ""]);

  test("takes question and answer, what they taught and archived, and counts it; the other exchange stays", async () => {
    expect((await erases.episode(owner, messageId))?.erased).toEqual({
      messages: 2,
      summaries: 1,
      coreMemorySections: 1,
      memoryOperations: 3,
      jobs: 0,
    });
    expect(await stored()).toEqual(idsOf(1));
    expect(await messageCount()).toBe(2);
    expect(await tablesHolding(database, messageId)).toMatchObject({ "public.erase_markers": 1 });
    expect(await tablesHolding(database, word)).toEqual({ "public.conversations": 1, "public.messages": 2 }); // the session's name is the word, too
    expect(await erases.episode(owner, messageId)).toBeNull();
  });

  test("of an exchange that taught nothing leaves all memory as it was, and has the summary made anew", async () => {
    const last = conversation.exchanges[1]?.messageId ?? "";
    expect((await erases.episode(owner, last))?.erased).toEqual({
      messages: 2,
      summaries: 1,
      coreMemorySections: 0,
      memoryOperations: 0,
      jobs: 0,
    });
    expect(await stored()).toEqual(idsOf(0));
    expect(await tablesHolding(database, `Knows ${word}`)).toMatchObject({
      "public.core_memory_sections": 1,
      "public.memory_operations": 1,
    });
    expect(await tablesHolding(database, `Memory of ${word}`)).toMatchObject({ "public.archived_memories": 1 });
    expect(await tablesHolding(database, `Summary of ${word}`)).toEqual({});
  });

  test("makes a summary that covered it anew from the beginning, by a job, and not one that did not", async () => {
    const summaries = makeSummaryStore(database);
    const later = await storeExchange(database, owner, conversation.sessionId, word);
    await clearJobs(database);
    const before = await summaries.find(conversation);
    expect((await erases.episode(owner, later.messageId))?.erased).toMatchObject({ messages: 2, summaries: 0 });
    expect(await summaries.find(conversation)).toEqual(before);
    expect(await tablesHolding(database, "summarise")).toEqual({});

    expect(await summaries.findVersion(conversation, 1)).toEqual(before);
    expect((await erases.episode(owner, messageId))?.erased).toMatchObject({ messages: 2, summaries: 1 });
    expect(await summaries.findVersion(conversation, 1)).toBeNull(); // it told of what is erased
    expect(await summaries.find(conversation)).toMatchObject({ text: "", version: 2, coveredMessageCount: 0, tokenCount: 0 });
    const { messages } = await summaries.readBacklog(conversation, 40);
    expect(messages.map(({ id }) => id)).toEqual(idsOf(1));
    const text = "select data from pgboss.job where data->>'kind' = 'summarise'";
    expect(await database.query({ text })).toEqual([
      { data: { kind: "summarise", ...owner, conversationId: conversation.conversationId } },
    ]);
    const old = sampleSummary(messages[0] ?? { createdAt: new Date(), id: messageId }, { readVersion: 1 });
    expect(await summaries.save(conversation, old)).toBe(false); // by one who had read what is erased
  });

  test("takes an archived memory alone, with the operation that archived it", async () => {
    const { erased, entries } = (await erases.episode(owner, conversation.memoryId)) ?? {};
    expect(erased).toEqual({ messages: 0, summaries: 0, coreMemorySections: 0, memoryOperations: 1, jobs: 0 });
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
    const sweeps = await database.query<{ data: object }>({ text: "select data from pgboss.job where data->>'kind' = 'erase_episodes'" });
    const sweep = { kind: "erase_episodes", id: expect.any(String), ...entries };
    expect(sweeps.map(({ data }) => data)).toEqual([sweep, sweep]);
  });

  test("is refused while the conversation answers, and takes nothing; it is not once the lease ran out", async () => {
    const turn = await beginFreely(turns, sampleTurn({ ...owner, sessionId: conversation.sessionId }));
    const before = await tablesHolding(database, word);
    await expect(erases.episode(owner, messageId)).rejects.toMatchObject({ code: "conversation_busy" });
    expect(await tablesHolding(database, word)).toEqual(before);
    expect(await turns.renew(turn, EXPIRED_LEASE_MS)).toBe(true);
    expect((await erases.episode(owner, messageId))?.erased).toMatchObject({ messages: 2 });
  });

  test("gives null for an answer's id, an unknown one and another's, and takes nothing", async () => {
    const before = await tablesHolding(database, word);
    const [answerId = ""] = idsOf(0).slice(1);
    for (const id of [answerId, uuidv7(), conversation.conversationId]) expect(await erases.episode(owner, id)).toBeNull();
    for (const id of [messageId, conversation.memoryId]) {
      expect(await erases.episode({ ...owner, userId: `${owner.userId} ` }, id)).toBeNull();
      expect(await erases.episode({ ...owner, tenantId: "other" }, id)).toBeNull();
    }
    expect(await tablesHolding(database, word)).toEqual(before);
    expect(await database.query({ text: "select 1 from erase_markers" })).toEqual([]);
  });

  test("a first summary that is being written of what is erased is not saved", async () => {
    const turn = await storeExchange(database, owner, "another session", "something else");
    const other = { ...owner, conversationId: turn.conversationId };
    const { messages, rewrites } = await makeSummaryStore(database).readBacklog(other, 40);
    const [last] = messages.slice(-1);
    if (!last) throw new Error("nothing was read");
    await erases.episode(owner, turn.messageId);
    expect(await makeSummaryStore(database).save(other, sampleSummary(last, { text: "something else", rewrites }))).toBe(false);
    expect(await tablesHolding(database, "something else")).toEqual({});
  });

  test("a next summary that is being written of what is erased and was not covered before is not saved", async () => {
    const later = await storeExchange(database, owner, conversation.sessionId, "something else");
    const { summary, messages, rewrites } = await makeSummaryStore(database).readBacklog(conversation, 40);
    const [last] = messages.slice(-1);
    if (!last) throw new Error("nothing was read");
    await erases.episode(owner, later.messageId);
    const next = sampleSummary(last, { readVersion: summary?.version ?? 0, text: "something else", rewrites });
    expect(await makeSummaryStore(database).save(conversation, next)).toBe(false);
  });

  test("what a section said before and after is gone from operations of others, too, of a section that was taught by it", async () => {
    const secret = `secret ${word}`;
    const from = { conversationId: conversation.conversationId, triggerMessageIds: [messageId] };
    await teach(database, owner, { section: "goals", content: secret, ...from });
    const other = await storeExchange(database, owner, "another session", "something else");
    await teach(database, owner, { section: "goals", content: "To sail.", reason: "Said so.", conversationId: other.conversationId });
    await erases.episode(owner, messageId);
    expect(await tablesHolding(database, secret)).toEqual({});
    expect(await operationsOf(database, owner)).toMatchObject([{ oldValue: null, newValue: "To sail.", reason: "Said so." }]);
  });

  // The reasons of others are kept as they are, also when they quote what the section said.
  test("what a section said is gone from the reasons of others for changing it", async () => {
    const secret = `secret ${word}`;
    const from = { conversationId: conversation.conversationId, triggerMessageIds: [messageId] };
    await teach(database, owner, { section: "goals", content: secret, ...from });
    const other = await storeExchange(database, owner, "another session", "something else");
    const reason = `It contradicts "${secret}".`;
    await teach(database, owner, { section: "goals", content: "To sail.", reason, conversationId: other.conversationId });
    await erases.episode(owner, messageId);
    expect(await tablesHolding(database, secret)).toEqual({});
  });
});
