import { beforeEach, expect, test } from "@jest/globals";
import type { IndexProgress } from "../../../../stores/postgres/memory/episode-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { messagesFromTo, placeOf, storeConversation } from "../../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

const MESSAGE = {
  role: "user",
  content: "message 1",
  imported: false,
  importNumber: null,
  branchId: null,
  isKnown: false,
  isCut: false,
  partner: null,
};

describeStores("the episode store", ({ database, episodes, erases }) => {
  let index: string;
  beforeEach(() => {
    index = `index_${crypto.randomUUID().replaceAll("-", "")}`;
  });

  /** Moves on from what is there to "message `number`", which ends an episode unless `lastEpisodeId` says otherwise. */
  async function advanceTo(conversation: OwnedConversation, number: number, lastEpisodeId: string | null = FIRST_ID): Promise<boolean> {
    const { progress } = await episodes.readBacklog(conversation, index, 1);
    return advance(conversation, progress, { indexedThrough: await placeOf(database, conversation, number), lastEpisodeId });
  }

  const advance = (conversation: OwnedConversation, progress: IndexProgress | null, to: IndexProgress): Promise<boolean> =>
    episodes.advance(conversation, index, { progress, importedCount: 0 }, to);

  async function contents(conversation: OwnedConversation, limit = 100): Promise<string[]> {
    return (await episodes.readBacklog(conversation, index, limit)).messages.map(({ content }) => content);
  }

  const strangers = (conversation: OwnedConversation): OwnedConversation[] => [
    { ...conversation, tenantId: "other" },
    { ...conversation, userId: "other" },
    { ...conversation, conversationId: crypto.randomUUID() },
  ];

  test("gives the oldest completed messages first, as many as asked for, and no incomplete one", async () => {
    const conversation = await storeConversation(database, { count: 8, incomplete: [2, 5] });
    expect(await contents(conversation)).toEqual(["message 1", "message 3", "message 4", "message 6", "message 7", "message 8"]);
    expect(await contents(conversation, 2)).toEqual(["message 1", "message 3"]);
    const { progress, messages } = await episodes.readBacklog(conversation, index, 1);
    expect({ progress, messages }).toEqual({ progress: null, messages: [{ ...MESSAGE, ...(await placeOf(database, conversation, 1)) }] });
  });

  test("goes on after the progress, which it returns as it was saved, for each index on its own", async () => {
    const conversation = await storeConversation(database, { count: 6 });
    expect(await advanceTo(conversation, 4)).toBe(true);
    expect(await contents(conversation)).toEqual(messagesFromTo(5, 6));
    const { progress } = await episodes.readBacklog(conversation, index, 1);
    expect(progress).toEqual({ indexedThrough: await placeOf(database, conversation, 4), lastEpisodeId: FIRST_ID });
    expect((await episodes.readBacklog(conversation, "another_index", 100)).messages).toHaveLength(6);
  });

  test("moves on only from the progress that was read; of two at once lets one", async () => {
    const conversation = await storeConversation(database, { count: 6 });
    const first = { indexedThrough: await placeOf(database, conversation, 2), lastEpisodeId: null };
    const second = { indexedThrough: await placeOf(database, conversation, 4), lastEpisodeId: FIRST_ID };
    for (const to of [first, second]) {
      const read = to === first ? null : first;
      const both = await Promise.all([advance(conversation, read, to), advance(conversation, read, to)]);
      expect(both.sort()).toEqual([false, true]);
      expect(await advance(conversation, read, to)).toBe(false);
      expect((await episodes.readBacklog(conversation, index, 1)).progress).toEqual(to);
    }
  });

  test("moves on nowhere in a conversation that is gone or another's, and forgets its progress with it", async () => {
    const conversation = await storeConversation(database, { count: 2 });
    const to = { indexedThrough: await placeOf(database, conversation, 2), lastEpisodeId: null };
    for (const stranger of strangers(conversation)) {
      expect(await advance(stranger, null, to)).toBe(false);
      expect(await episodes.readBacklog(stranger, index, 10)).toMatchObject({ progress: null, messages: [] });
    }
    expect(await advance(conversation, null, to)).toBe(true);
    await erases.conversation(conversation);
    expect(await advance(conversation, null, to)).toBe(false);
    const text = "select from episode_cursors where conversation_id = $1";
    expect(await database.query({ text, values: [conversation.conversationId] })).toEqual([]);
  });

  test("says which pairs of messages are still there whole, of this conversation alone", async () => {
    const conversation = await storeConversation(database, { count: 6 });
    const other = await storeConversation(database, { count: 2 });
    const pairOf = async (number: number, of = conversation) =>
      [(await placeOf(database, of, number)).id, (await placeOf(database, of, number + 1)).id] as const;
    const [first, second, third, foreign] = [await pairOf(1), await pairOf(3), await pairOf(5), await pairOf(1, other)];
    const pairs = [first, second, third, foreign];
    expect((await episodes.listStored(conversation, pairs)).sort()).toEqual([first[0], second[0], third[0]].sort());
    await database.query({ text: "delete from messages where id = any($1)", values: [[first[0], second[1]]] });
    expect(await episodes.listStored(conversation, pairs)).toEqual([third[0]]);
    for (const stranger of strangers(conversation)) expect(await episodes.listStored(stranger, pairs)).toEqual([]);
    await erases.conversation(conversation);
    expect(await episodes.listStored(conversation, pairs)).toEqual([]);
    expect(await episodes.listStored(other, [])).toEqual([]);
  });

  test("knows whether the user has episodes in other conversations than this one", async () => {
    const here = await storeConversation(database, { count: 2 });
    const there = await storeConversation(database, { count: 2 });
    await database.query({ text: "update conversations set user_id = $1 where id = $2", values: [here.userId, there.conversationId] });
    const elsewhere = { ...there, userId: here.userId };
    const elsewhereOf = async (owner: OwnedConversation & { sessionId: string }): Promise<boolean> =>
      (await episodes.checkRecallable(owner, owner.sessionId)).elsewhere;
    expect(await elsewhereOf(here)).toBe(false);
    await advanceTo(here, 2);
    expect(await elsewhereOf(here)).toBe(false);
    expect(await elsewhereOf(elsewhere)).toBe(true);
    expect(await elsewhereOf({ ...elsewhere, sessionId: "not there yet" })).toBe(true);
    await advanceTo(elsewhere, 2, null);
    expect(await elsewhereOf(here)).toBe(false); // messages, but no episode
    expect(await elsewhereOf({ ...elsewhere, userId: "other" })).toBe(false);
    expect(await elsewhereOf({ ...elsewhere, tenantId: "other" })).toBe(false);
  });

  test("lists the conversations of all users with completed answers that an index lacks, a page at a time, by id", async () => {
    await database.query({ text: "delete from conversations" });
    const whole = await storeConversation(database, { count: 2 });
    await advanceTo(whole, 2);
    await storeConversation(database, { count: 1 }); // only a question
    await storeConversation(database, { count: 2, incomplete: [2] });
    const behind = await storeConversation(database, { count: 4 });
    await advanceTo(behind, 2);
    const fresh = await storeConversation(database, { count: 2 });
    const expected = [behind, fresh]
      .map(({ conversationId, tenantId, userId }) => ({ conversationId, tenantId, userId }))
      .sort((one, other) => (one.conversationId < other.conversationId ? -1 : 1));
    expect(await episodes.listUnindexed(index, FIRST_ID, 10)).toEqual(expected);
    expect(await episodes.listUnindexed(index, FIRST_ID, 1)).toEqual(expected.slice(0, 1));
    expect(await episodes.listUnindexed(index, expected[0]?.conversationId ?? "", 10)).toEqual(expected.slice(1));
    expect(await Promise.all([whole, behind, fresh].map((one) => episodes.isUnindexed(one, index)))).toEqual([false, true, true]);
    expect(await episodes.countExchanges()).toBe(4);
  });

  test("says at the end of a job whether the index that serves lacks an answer, and that an erased conversation is gone", async () => {
    const conversation = await storeConversation(database, { count: 3 });
    const look = (one: OwnedConversation) => database.transaction((transaction) => episodes.lockAndCheck(transaction, one));
    await database.query({ text: "delete from search_indexes" });
    const text =
      "insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at) values ($1, 'episodes', $2, 'postgres', 'e', 2, now())";
    await database.query({ text, values: [index, "current"] });
    await database.query({ text, values: [`${index}_building`, "building"] });
    expect(await look(conversation)).toBe(true);
    await advanceTo(conversation, 2);
    expect(await look(conversation)).toBe(false); // the message that has no answer yet is no reason
    for (const stranger of strangers(conversation)) expect(await look(stranger)).toBeNull();
  });

  test("gives the texts of an owner's episodes as they are stored, whose ids it has from the index", async () => {
    const conversation = await storeConversation(database, { count: 6, incomplete: [6] });
    const ids = await Promise.all([1, 2, 3, 4, 5, 6].map(async (number) => (await placeOf(database, conversation, number)).id));
    const [asked = "", answer = "", secondAsked = "", secondAnswer = "", lastAsked = "", half = ""] = ids;
    await database.query({ text: `update messages set metadata = '{"external_id":"x-1"}' where id = $1`, values: [answer] });
    const gone = crypto.randomUUID();
    const pairs = [[asked, answer], [secondAsked, secondAnswer], [lastAsked, half], [gone, answer], [asked, gone]] as const; // prettier-ignore
    const found = (await episodes.load(conversation, pairs)).sort((one, other) => (one.userMessage < other.userMessage ? -1 : 1));
    const { conversationId } = conversation;
    expect(found).toEqual([
      {
        id: asked,
        conversationId,
        userMessage: "message 1",
        assistantMessage: "message 2",
        messageIds: [asked, answer],
        externalIds: ["x-1"],
        createdAt: (await placeOf(database, conversation, 1)).createdAt,
        before: [],
        after: [
          { ...(await placeOf(database, conversation, 3)), role: "user", content: "message 3", externalId: null, isLive: true },
          { ...(await placeOf(database, conversation, 4)), role: "assistant", content: "message 4", externalId: null, isLive: true },
        ],
      },
      expect.objectContaining({ id: secondAsked, messageIds: [secondAsked, secondAnswer], externalIds: [] }),
    ]);
    expect(found[1]?.before.map(({ id, externalId }) => [id, externalId])).toEqual([
      [asked, null],
      [answer, "x-1"],
    ]);
    expect(found[1]?.after.map(({ id }) => id)).toEqual([lastAsked]); // the answer to it is not complete
    expect(await episodes.load(conversation, [])).toEqual([]);
  });

  test("gives no texts to another user or tenant, nor a pair of messages of two conversations", async () => {
    const conversation = await storeConversation(database, { count: 2 });
    const other = await storeConversation(database, { count: 2 });
    const [asked, answer] = [(await placeOf(database, conversation, 1)).id, (await placeOf(database, conversation, 2)).id];
    const foreign = (await placeOf(database, other, 2)).id;
    const { tenantId, userId } = conversation;
    expect(await episodes.load({ tenantId, userId }, [[asked, answer]])).toHaveLength(1);
    expect(await episodes.load({ tenantId: "other", userId }, [[asked, answer]])).toEqual([]);
    expect(await episodes.load({ tenantId, userId: other.userId }, [[asked, answer]])).toEqual([]);
    expect(await episodes.load({ tenantId, userId }, [[asked, foreign]])).toEqual([]);
  });
});
