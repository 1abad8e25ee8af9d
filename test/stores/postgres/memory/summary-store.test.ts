import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Cursor } from "../../../../stores/page.ts";
import type { StoredSummary } from "../../../../stores/postgres/memory/summary-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { idOf, timeAt } from "../../../support/samples/sample-window.ts";
import {
  messagesFromTo,
  placeOf,
  sampleSummary,
  storeConversation,
  summariseThrough,
} from "../../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";

/** A cover point: the time first, then the id. */
const at = (time: number, id: number): Cursor => ({ createdAt: new Date(timeAt(time)), id: idOf(id) });

describeStores("the summary store", ({ database, summaries, erases }) => {
  async function found(conversation: OwnedConversation): Promise<StoredSummary> {
    const summary = await summaries.find(conversation);
    if (!summary) throw new Error("there is no summary");
    return summary;
  }

  async function countSummaries({ conversationId }: OwnedConversation): Promise<number> {
    const text = "select 1 from conversation_summaries where conversation_id = $1";
    return (await database.query({ text, values: [conversationId] })).length;
  }

  describe("save", () => {
    test("writes the first summary as version 1, as it is given", async () => {
      const conversation = await storeConversation(database, { count: 0 });
      const text = "Ada's cat is “Tom”.\n她住在里斯本。 $1 \\n {} 😀";
      const began = Date.now();
      expect(await summaries.save(conversation, { ...sampleSummary(at(5, 5)), text, tokenCount: 17, addedMessageCount: 4 })).toBe(true);
      const { updatedAt, ...summary } = await found(conversation);
      expect(summary).toEqual({ text, version: 1, coveredThrough: at(5, 5), coveredMessageCount: 4, tokenCount: 17, parts: null });
      expect(Math.abs(updatedAt.getTime() - began)).toBeLessThan(60_000);
    });

    test("keeps the last twenty versions as they were, each with its cover point", async () => {
      const conversation = await storeConversation(database, { count: 0 });
      for (let version = 1; version <= 22; version++)
        await summaries.save(conversation, sampleSummary(at(version, 1), { readVersion: version - 1, addedMessageCount: 2 }));
      expect(await summaries.findVersion(conversation, 22)).toEqual(await summaries.find(conversation));
      const third = { text: "summary 3", version: 3, coveredThrough: at(3, 1), coveredMessageCount: 6 };
      expect(await summaries.findVersion(conversation, 3)).toMatchObject(third);
      expect(await summaries.findVersion(conversation, 2)).toBeNull();
      expect(await summaries.findVersion(conversation, 23)).toBeNull();
    });

    // Kept: version 2 through (5, 5). Version and place must both be right; the same time goes by the id.
    test.each<[boolean, string, Cursor, number]>([
      [true, "a later time with the version read", at(6, 1), 2],
      [true, "the same time and a later id with the version read", at(5, 6), 2],
      [false, "the same place with the version read", at(5, 5), 2],
      [false, "the same time and an earlier id with the version read", at(5, 4), 2],
      [false, "an earlier time and a later id with the version read", at(4, 9), 2],
      [false, "a later time with the version before", at(6, 9), 1],
      [false, "a later time with a version that is not there yet", at(6, 9), 3],
      [false, "a later time as the first version", at(6, 9), 0],
      [false, "the same time and a later id with the version before", at(5, 6), 1],
      [false, "the same time and a later id as the first version", at(5, 6), 0],
      [false, "an earlier time with the version before", at(4, 1), 1],
    ])("answers %p to %s, and writes nothing that it refuses", async (isSaved, _name, coveredThrough, readVersion) => {
      const conversation = await storeConversation(database, { count: 0 });
      await summaries.save(conversation, sampleSummary(at(3, 3), { addedMessageCount: 4 }));
      await summaries.save(conversation, sampleSummary(at(5, 5), { readVersion: 1, addedMessageCount: 5 }));
      const before = await found(conversation);
      const summary = sampleSummary(coveredThrough, { readVersion, text: "the next", tokenCount: 9, addedMessageCount: 3 });
      expect(await summaries.save(conversation, summary)).toBe(isSaved);
      const next = { text: "the next", version: 3, coveredThrough, coveredMessageCount: 12, tokenCount: 9 };
      expect(await found(conversation)).toMatchObject(isSaved ? next : before);
      expect((await summaries.findVersion(conversation, 3)) !== null).toBe(isSaved);
    });

    test("refuses a second first summary, and a later version when there is none", async () => {
      const conversation = await storeConversation(database, { count: 0 });
      expect(await summaries.save(conversation, sampleSummary(at(1, 1), { readVersion: 1 }))).toBe(false);
      expect(await countSummaries(conversation)).toBe(0);
      expect(await summaries.save(conversation, sampleSummary(at(1, 1)))).toBe(true);
      expect(await summaries.save(conversation, sampleSummary(at(2, 2), { text: "another" }))).toBe(false);
      expect(await found(conversation)).toMatchObject({ text: "summary 1", version: 1, coveredThrough: at(1, 1) });
    });
  });

  describe("readBacklog", () => {
    test("has the oldest completed messages, oldest first, no more than the limit, and no summary when there is none", async () => {
      const conversation = await storeConversation(database, { count: 9, incomplete: [2], tokenCount: 7 });
      const { summary, messages } = await summaries.readBacklog(conversation, 4);
      expect(summary).toBeNull();
      expect(messages.map(({ content }) => content)).toEqual(["message 1", "message 3", "message 4", "message 5"]);
      const first = { ...(await placeOf(database, conversation, 1)), role: "user", content: "message 1", tokenCount: 7, pictureCount: 0 };
      expect(messages[0]).toEqual(first);
    });

    test("begins right behind the cover point, with the summary of that very moment, and is empty at the end", async () => {
      const conversation = await storeConversation(database, { count: 9 });
      await summariseThrough(database, conversation, 4);
      const { summary, messages } = await summaries.readBacklog(conversation, 100);
      expect(summary).toEqual(await found(conversation));
      expect(messages.map(({ content }) => content)).toEqual(messagesFromTo(5, 9));
      const last = sampleSummary(await placeOf(database, conversation, 9), { readVersion: 1 });
      expect(await summaries.save(conversation, last)).toBe(true);
      expect(await summaries.readBacklog(conversation, 100)).toMatchObject({ summary: { version: 2 }, messages: [] });
    });
  });

  describe("lockAndCount", () => {
    const count = (conversation: OwnedConversation, atMost = 1_000) =>
      database.transaction((transaction) => summaries.lockAndCount(transaction, conversation, atMost));

    test("counts the completed messages, with a summary those behind its cover point", async () => {
      const conversation = await storeConversation(database, { count: 9, incomplete: [2, 9] });
      expect(await count(conversation)).toEqual({ hasSummary: false, uncovered: 7, isSaturated: false });
      await summariseThrough(database, conversation, 4);
      expect(await count(conversation)).toEqual({ hasSummary: true, uncovered: 4, isSaturated: false });
    });

    test("counts no further than it is asked to", async () => {
      const conversation = await storeConversation(database, { count: 9 });
      for (const atMost of [0, 1, 8])
        expect(await count(conversation, atMost)).toEqual({ hasSummary: false, uncovered: atMost, isSaturated: false });
      for (const atMost of [9, 10])
        expect(await count(conversation, atMost)).toEqual({ hasSummary: false, uncovered: 9, isSaturated: false });
    });

    test("gives null when the conversation is deleted", async () => {
      const conversation = await storeConversation(database, { count: 9 });
      await erases.conversation(conversation);
      expect(await count(conversation)).toBeNull();
    });
  });

  test.each([{ tenantId: "other" }, { userId: "other" }, { conversationId: uuidv7() }])(
    "keeps a conversation from being read or written by others: %p",
    async (fields) => {
      const conversation = await storeConversation(database, { count: 9 });
      const others = { ...conversation, ...fields };
      expect(await summaries.save(others, sampleSummary(at(1, 1)))).toBe(false);
      expect(await countSummaries(conversation)).toBe(0);
      expect(await summaries.find(conversation)).toBeNull();
      await summariseThrough(database, conversation, 4);
      const before = await found(conversation);
      expect(await summaries.save(others, sampleSummary(await placeOf(database, conversation, 5), { readVersion: 1 }))).toBe(false);
      expect(await found(conversation)).toEqual(before);
      expect([await summaries.find(others), await summaries.findVersion(others, 1)]).toEqual([null, null]);
      expect(await summaries.readBacklog(others, 100)).toEqual({ summary: null, messages: [], rewrites: 0, isSaturated: false });
      expect(await database.transaction((transaction) => summaries.lockAndCount(transaction, others, 9))).toBeNull();
    },
  );
});
