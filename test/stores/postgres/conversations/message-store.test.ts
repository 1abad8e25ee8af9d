import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { decodeCursor, type Page } from "../../../../stores/page.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeMessageStore, type MessageStore, type StoredMessage } from "../../../../stores/postgres/conversations/message-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { BegunTurn, BeginTurn } from "../../../../stores/postgres/conversations/begin-turn.ts";

const contents = (messages: StoredMessage[]): string[] => messages.map(({ content }) => content);

describeOnBothDatabases("the message store", (open) => {
  let database: Database;
  let turns: TurnStore;
  let messages: MessageStore;
  beforeAll(async () => {
    database = await open();
    turns = makeTurnStore(database);
    messages = makeMessageStore(database);
  });
  afterAll(() => database.close());

  /** A conversation with `count` complete turns "question 1", "answer 1", … */
  async function converse(count: number): Promise<BegunTurn & BeginTurn> {
    const { sessionId } = sampleTurn();
    let last: (BegunTurn & BeginTurn) | undefined;
    for (let turn = 1; turn <= count; turn++) {
      last = await completeTurn(turns, sampleTurn({ sessionId, message: `question ${turn}` }), sampleAnswer({ content: `answer ${turn}` }));
    }
    if (!last) throw new Error("a conversation needs a turn");
    return last;
  }

  describe("list", () => {
    test("pages through all messages in order, incomplete ones too, and ends with null", async () => {
      const conversation = await converse(2);
      const cut = sampleAnswer({ content: "half an ans", completed: false, metadata: { note: ["cut", 1] } });
      await completeTurn(turns, sampleTurn({ sessionId: conversation.sessionId, message: "question 3" }), cut);

      const pages: Page<StoredMessage>[] = [];
      let next: string | null = null;
      do {
        const page: Page<StoredMessage> = await messages.list(conversation, { limit: 4, after: next === null ? null : decodeCursor(next) });
        pages.push(page);
        next = page.next;
      } while (next !== null);

      expect(pages.map(({ items }) => contents(items))).toEqual([
        ["question 1", "answer 1", "question 2", "answer 2"],
        ["question 3", "half an ans"],
      ]);
      expect(pages[1]?.items[1]).toMatchObject({ id: cut.messageId, completed: false, metadata: { note: ["cut", 1] } });
    });

    test("pages from the newest on when told so, each message once", async () => {
      const conversation = await converse(3);
      const pages: string[][] = [];
      let next: string | null | undefined;
      while (next !== null) {
        const page: Page<StoredMessage> = await messages.list(
          conversation,
          { limit: 4, after: next ? decodeCursor(next) : null },
          "newest_first",
        );
        pages.push(contents(page.items));
        next = page.next;
      }
      expect(pages).toEqual([
        ["answer 3", "question 3", "answer 2", "question 2"],
        ["answer 1", "question 1"],
      ]);
      const { items } = await messages.list({ ...conversation, userId: "other" }, { limit: 4, after: null }, "newest_first");
      expect(items).toEqual([]);
    });

    test("says that nothing follows when the last page is just full", async () => {
      const conversation = await converse(2);
      const page = await messages.list(conversation, { limit: 4, after: null });
      expect(page.items).toHaveLength(4);
      expect(page.next).toBeNull();
    });

    test("goes on behind the cursor with messages that came later", async () => {
      const conversation = await converse(1);
      const { items } = await messages.list(conversation, { limit: 50, after: null });
      const last = items.at(-1);
      if (!last) throw new Error("the list is empty");
      expect(await messages.list(conversation, { limit: 50, after: last })).toEqual({ items: [], next: null });
      const later = await beginFreely(turns, sampleTurn({ sessionId: conversation.sessionId }));
      expect((await messages.list(conversation, { limit: 50, after: last })).items.map(({ id }) => id)).toEqual([later.messageId]);
    });

    test.each([{ tenantId: "other" }, { userId: "other" }, { conversationId: uuidv7() }])(
      "is empty for whoever does not own the conversation: %p",
      async (fields) => {
        const conversation = await converse(1);
        expect(await messages.list({ ...conversation, ...fields }, { limit: 50, after: null })).toEqual({ items: [], next: null });
      },
    );
  });

  describe("find", () => {
    test("has one message of its tenant, and tells whose it is", async () => {
      const { messageId, conversationId, userId, tenantId } = await converse(1);
      const found = await messages.find({ tenantId, userId: null }, messageId);
      expect(found).toMatchObject({ userId, conversationId, message: { id: messageId, role: "user", content: "question 1" } });
      expect(await messages.find({ tenantId: "other", userId: null }, messageId)).toBeNull();
      expect(await messages.find({ tenantId, userId: null }, uuidv7())).toBeNull();
    });
  });
});
