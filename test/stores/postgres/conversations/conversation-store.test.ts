import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../stores/owner.ts";
import { decodeCursor } from "../../../../stores/page.ts";
import { makeConversationStore, type ConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import { makeEraseStore, type EraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeMessageStore } from "../../../../stores/postgres/conversations/message-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";

/** Names that a pattern, a fold of case, a normalisation or a trim would take for one another. */
const LOOK_ALIKES = ["a", "aa", "A", "a%", "a_", "%", "*", "a ", " a", "a:a", "а", "ａ", "á", "a\u0301", "a\u200B", "a'--"];

describeOnBothDatabases("the conversation store", (open) => {
  let database: Database;
  let turns: TurnStore;
  let conversations: ConversationStore;
  let erases: EraseStore;
  beforeAll(async () => {
    database = await open();
    turns = makeTurnStore(database);
    conversations = makeConversationStore(database);
    erases = makeEraseStore(database);
  });
  afterAll(() => database.close());

  describe("find", () => {
    test("gives the conversation with its count and times", async () => {
      const { tenantId, userId, sessionId, conversationId } = await completeTurn(turns, sampleTurn());
      const found = await conversations.find({ tenantId, userId: null }, conversationId);
      expect(found).toEqual({
        id: conversationId,
        userId,
        sessionId,
        messageCount: 2,
        createdAt: expect.any(Date),
        updatedAt: expect.any(Date),
      });
      expect(Math.abs(Date.now() - (found?.createdAt.getTime() ?? 0))).toBeLessThan(60_000);
      expect(found?.updatedAt.getTime()).toBeGreaterThanOrEqual(found?.createdAt.getTime() ?? Infinity);
    });

    test("gives null to another tenant and for an unknown id", async () => {
      const { conversationId, tenantId } = await completeTurn(turns, sampleTurn());
      expect(await conversations.find({ tenantId: "other", userId: null }, conversationId)).toBeNull();
      expect(await conversations.find({ tenantId, userId: null }, uuidv7())).toBeNull();
    });

    test("gives a user its own and null to every other user of the tenant, whatever the id looks like", async () => {
      const { conversationId, tenantId } = await completeTurn(turns, sampleTurn({ userId: "ada" }));
      expect(await conversations.find({ tenantId, userId: "ada" }, conversationId)).toMatchObject({ userId: "ada" });
      for (const userId of ["", "ad", "Ada", "ada ", "%", "a_a", "\u0430da"]) {
        expect(await conversations.find({ tenantId, userId }, conversationId)).toBeNull();
      }
    });
  });

  describe("list", () => {
    test("has the newest created first and stays in that order while turns go on", async () => {
      const owner = { tenantId: "tenant", userId: uuidv7() };
      for (const sessionId of ["first", "second", "third"]) await completeTurn(turns, sampleTurn({ ...owner, sessionId }));
      await completeTurn(turns, sampleTurn({ ...owner, sessionId: "first" }));
      const { items, next } = await conversations.list(owner, { limit: 50, after: null });
      expect(items.map(({ sessionId, messageCount }) => [sessionId, messageCount])).toEqual([
        ["third", 2],
        ["second", 2],
        ["first", 4],
      ]);
      expect(next).toBeNull();
    });

    test("pages without a gap and without a repeat", async () => {
      const owner = { tenantId: "tenant", userId: uuidv7() };
      for (const sessionId of ["1", "2", "3", "4", "5"]) await beginFreely(turns, sampleTurn({ ...owner, sessionId }));
      const first = await conversations.list(owner, { limit: 2, after: null });
      const second = await conversations.list(owner, { limit: 2, after: decodeCursor(first.next ?? "") });
      const third = await conversations.list(owner, { limit: 2, after: decodeCursor(second.next ?? "") });
      expect([first, second, third].map(({ items }) => items.map(({ sessionId }) => sessionId))).toEqual([["5", "4"], ["3", "2"], ["1"]]);
      expect(third.next).toBeNull();
    });

    test("of an unknown user is empty", async () => {
      expect(await conversations.list({ tenantId: "tenant", userId: uuidv7() }, { limit: 50, after: null })).toEqual({
        items: [],
        next: null,
      });
    });
  });

  describe("erase", () => {
    test("deletes the conversation with all its messages and counts them", async () => {
      const first = await completeTurn(turns, sampleTurn());
      await completeTurn(turns, sampleTurn({ sessionId: first.sessionId }), sampleAnswer({ completed: false }));
      expect(await erases.conversation(first)).toMatchObject({ erased: { messages: 4, summaries: 0, jobs: 0 } });
      expect(await conversations.find(first, first.conversationId)).toBeNull();
      const left = await database.query({ text: "select 1 from messages where conversation_id = $1", values: [first.conversationId] });
      expect(left).toEqual([]);
    });

    test("leaves other conversations of the same user alone", async () => {
      const gone = await completeTurn(turns, sampleTurn());
      const kept = await completeTurn(turns, sampleTurn());
      await erases.conversation(gone);
      expect(await conversations.find(kept, kept.conversationId)).toMatchObject({ messageCount: 2 });
      expect((await makeMessageStore(database).list(kept, { limit: 50, after: null })).items).toHaveLength(2);
    });

    test("gives null the second time and for an unknown id", async () => {
      const conversation = await completeTurn(turns, sampleTurn());
      await erases.conversation(conversation);
      expect(await erases.conversation(conversation)).toBeNull();
      expect(await erases.conversation({ ...conversation, conversationId: uuidv7() })).toBeNull();
    });

    test.each([{ tenantId: "other" }, { userId: "other" }])("gives null to another owner and deletes nothing: %p", async (fields) => {
      const conversation = await completeTurn(turns, sampleTurn());
      expect(await erases.conversation({ ...conversation, ...fields })).toBeNull();
      expect(await conversations.find(conversation, conversation.conversationId)).toMatchObject({ messageCount: 2 });
    });

    test("starts the session afresh: the next turn gets a new conversation", async () => {
      const gone = await completeTurn(turns, sampleTurn());
      await erases.conversation(gone);
      const next = await beginFreely(turns, sampleTurn({ sessionId: gone.sessionId }));
      expect(next.conversationId).not.toBe(gone.conversationId);
    });
  });

  test("tenants, users and sessions with look-alike names stay apart", async () => {
    const created: (Owner & { sessionId: string; conversationId: string })[] = [];
    for (const name of LOOK_ALIKES) {
      for (const fields of [
        { tenantId: name, userId: "same", sessionId: "same" },
        { tenantId: "same", userId: name, sessionId: "same" },
        { tenantId: "look-alikes", userId: "same", sessionId: name },
      ]) {
        created.push(await completeTurn(turns, sampleTurn(fields)));
      }
    }
    expect(new Set(created.map(({ conversationId }) => conversationId)).size).toBe(created.length);

    const [erased, ...kept] = created;
    if (!erased) throw new Error("nothing was created");
    expect(await erases.conversation(erased)).toMatchObject({ erased: { messages: 2, summaries: 0, jobs: 0 } });
    for (const conversation of kept) {
      expect(await conversations.find(conversation, conversation.conversationId)).toMatchObject({
        userId: conversation.userId,
        sessionId: conversation.sessionId,
        messageCount: 2,
      });
    }
    for (const name of LOOK_ALIKES.slice(1)) {
      const ofTenant = await conversations.list({ tenantId: name, userId: "same" }, { limit: 50, after: null });
      const ofUser = await conversations.list({ tenantId: "same", userId: name }, { limit: 50, after: null });
      expect([ofTenant.items.length, ofUser.items.length]).toEqual([1, 1]);
    }
    expect((await conversations.list({ tenantId: "a", userId: "same" }, { limit: 50, after: null })).items).toEqual([]);
  });
});
