import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeWindowStore, type LoadedWindow, type WindowRequest } from "../../../../stores/postgres/turns/window-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";
import {
  messagesFromTo,
  placeOf,
  sampleSummary,
  storeConversation,
  summariseThrough,
} from "../../../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../../../turn/owner.ts";

const WHOLE_WITHOUT_SUMMARY = { summary: null, isWhole: true, lastErasure: null };
const contents = ({ messages }: LoadedWindow): string[] => messages.map(({ content }) => content);

describeStores("the window store", ({ database, summaries, begin, complete }) => {
  function load(conversation: OwnedConversation, fields: Partial<WindowRequest> = {}): Promise<LoadedWindow> {
    const { conversationId, tenantId, userId } = conversation;
    const request = { exceptMessageId: uuidv7(), atLeast: 6, maxTokens: 1_000_000, useSummary: true };
    return makeWindowStore(database).load({ conversationId, tenantId, userId, ...request, ...fields });
  }

  describe("without a summary", () => {
    test("has every completed message, oldest first, as the model is given it", async () => {
      const conversation = await storeConversation(database, { count: 9, tokenCount: 7 });
      const window = await load(conversation);
      expect(window).toMatchObject(WHOLE_WITHOUT_SUMMARY);
      expect(contents(window)).toEqual(messagesFromTo(1, 9));
      const place = await placeOf(database, conversation, 9);
      expect(window.messages[8]).toEqual({ ...place, role: "user", content: "message 9", tokenCount: 7, pictureCount: 0 });
      expect(window.messages[7]?.role).toBe("assistant");
    });

    test("leaves the current message out by its id: the same text said before stays in", async () => {
      const sessionId = uuidv7();
      const earlier = await complete({ sessionId, message: "again" }, sampleAnswer({ content: "again" }));
      const current = await begin({ sessionId, message: "again" });
      const { messages } = await load(current, { exceptMessageId: current.messageId });
      expect(messages.map(({ content }) => content)).toEqual(["again", "again"]);
      expect(messages[0]?.id).toBe(earlier.messageId);
      expect(messages.map(({ id }) => id)).not.toContain(current.messageId);
    });
  });

  describe("with a summary", () => {
    test("has the summary with it, and its cover point", async () => {
      const conversation = await storeConversation(database, { count: 20 });
      await summariseThrough(database, conversation, 8);
      const summary = { text: "summary 1", version: 1, coveredMessageCount: 8, coveredThrough: await placeOf(database, conversation, 8) };
      expect((await load(conversation)).summary).toMatchObject(summary);
    });

    test.each([
      ["exactly as many are behind the cover point", 6, 14, 15, 20],
      ["fewer are behind the cover point", 6, 16, 15, 20],
      ["everything is covered", 6, 20, 15, 20],
      ["there are not as many", 6, 3, 1, 4],
      ["none is asked for", 0, 18, 19, 20],
      ["none is asked for and everything is covered", 0, 4, 5, 4],
      ["more are asked for than it reads at first", 300, 390, 101, 400],
    ])("reaches back to have at least as many as asked for when %s", async (_name, atLeast, through, first, count) => {
      const conversation = await storeConversation(database, { count });
      await summariseThrough(database, conversation, through);
      const window = await load(conversation, { atLeast });
      expect(contents(window)).toEqual(messagesFromTo(first, count));
      expect(window).toMatchObject({ summary: { version: 1 }, isWhole: true });
    });

    test("goes by the id among messages of one moment", async () => {
      const conversation = await storeConversation(database, { count: 9 });
      const text = "update messages set created_at = '2024-01-31 12:00:00Z' where conversation_id = $1 returning id, content";
      const rows = await database.query<{ id: string; content: string }>({ text, values: [conversation.conversationId] });
      const inOrder = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)).map(({ content }) => content);
      await summariseThrough(database, conversation, Number(inOrder[4]?.slice("message ".length)));
      expect(contents(await load(conversation, { atLeast: 1 }))).toEqual(inOrder.slice(5));
    });

    test("that is switched off leaves it aside: every message is in the window", async () => {
      const conversation = await storeConversation(database, { count: 20 });
      await summariseThrough(database, conversation, 8);
      const window = await load(conversation, { useSummary: false });
      expect(window).toMatchObject(WHOLE_WITHOUT_SUMMARY);
      expect(contents(window)).toEqual(messagesFromTo(1, 20));
    });

    test("read while it is written anew, again and again, has each message either in the window or covered, once", async () => {
      const count = 60;
      const conversation = await storeConversation(database, { count });
      const places = await Promise.all(Array.from({ length: count }, (_, index) => placeOf(database, conversation, index + 1)));
      let written = false;
      const write = async (): Promise<void> => {
        try {
          for (const [readVersion, place] of places.entries())
            expect(await summaries.save(conversation, sampleSummary(place, { readVersion }))).toBe(true);
        } finally {
          written = true;
        }
      };
      const read = async (): Promise<void> => {
        while (!written) {
          const { summary, messages } = await load(conversation, { atLeast: 0 });
          expect((summary?.coveredMessageCount ?? 0) + messages.length).toBe(count);
        }
      };
      await Promise.all([write(), read(), read(), read()]);
    });
  });

  test("never has an incomplete message, and reaches further back instead", async () => {
    const conversation = await storeConversation(database, { count: 12, incomplete: [1, 8, 10, 12] });
    const complete = messagesFromTo(2, 11).filter((content) => !["message 8", "message 10"].includes(content));
    expect(contents(await load(conversation))).toEqual(complete);
    await summariseThrough(database, conversation, 7);
    expect(contents(await load(conversation, { atLeast: 1 }))).toEqual(["message 9", "message 11"]);
    expect(contents(await load(conversation, { atLeast: 4 }))).toEqual(["message 6", "message 7", "message 9", "message 11"]);
  });

  describe("of a conversation of any length", () => {
    test.each([
      [0, 0],
      [199, 0],
      [200, 0],
      [201, 0],
      [1_200, 0],
      [1_201, 0],
      [2_201, 0],
      [12, 50],
      [200, 50],
      [201, 50],
      [1_201, 50],
    ])("has all %i in order behind the %i that a summary covers, and is whole", async (count, covered) => {
      const conversation = await storeConversation(database, { count: covered + count });
      if (covered > 0) await summariseThrough(database, conversation, covered);
      const window = await load(conversation);
      expect(window).toMatchObject(covered > 0 ? { summary: { version: 1 }, isWhole: true } : WHOLE_WITHOUT_SUMMARY);
      expect(contents(window)).toEqual(messagesFromTo(covered + 1, covered + count));
    });

    test.each([
      // 14 tokens each; a page has one message more than it is for, which tells whether there are older ones.
      ["when the newest have them already", 201 * 14, 201],
      ["when the next thousand has them", 201 * 14 + 1, 1_202],
      ["when the thousand after that has them", 1_202 * 14 + 1, 2_203],
    ])("stops reading back at maxTokens, %s, and says that it is not whole", async (_name, maxTokens, read) => {
      const window = await load(await storeConversation(database, { count: 2_500, tokenCount: 10 }), { maxTokens });
      expect(window.isWhole).toBe(false);
      expect(contents(window)).toEqual(messagesFromTo(2_501 - read, 2_500));
    });

    test("is whole below 200 messages whatever their tokens: what has no room in the prompt is the prompt's to say", async () => {
      const window = await load(await storeConversation(database, { count: 150, tokenCount: 10_000 }), { maxTokens: 10 });
      expect(window.messages).toHaveLength(150);
      expect(window.isWhole).toBe(true);
    });
  });

  test.each([{ tenantId: "other" }, { userId: "other" }, { conversationId: uuidv7() }])(
    "is empty for others, and tells no summary: %p",
    async (fields) => {
      const conversation = await storeConversation(database, { count: 250 });
      await summariseThrough(database, conversation, 8);
      for (const useSummary of [true, false])
        expect(await load(conversation, { useSummary, ...fields })).toEqual({ ...WHOLE_WITHOUT_SUMMARY, messages: [] });
    },
  );
});
