import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeConversationStore, type ConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import { makeEraseStore, type EraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeMessageStore, type StoredMessage } from "../../../../stores/postgres/conversations/message-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import {
  beginFreely,
  completeTurn,
  EXPIRED_LEASE_MS,
  LONG_LEASE_MS,
  sampleAnswer,
  sampleTurn,
} from "../../../support/samples/sample-turns.ts";
import type { HeldTurn } from "../../../../stores/postgres/conversations/begin-turn.ts";

describeOnBothDatabases("the turn store", (open) => {
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

  async function messagesOf(held: HeldTurn): Promise<StoredMessage[]> {
    const { items } = await makeMessageStore(database).list(held, { limit: 100, after: null });
    return items;
  }

  async function messageCount({ tenantId, conversationId }: HeldTurn): Promise<number | undefined> {
    return (await conversations.find({ tenantId, userId: null }, conversationId))?.messageCount;
  }

  describe("begin", () => {
    test("creates the conversation of a new session and stores the user's message", async () => {
      const begun = await beginFreely(turns, sampleTurn({ message: "你好 😀 \u202Eabc", tokenCount: 7 }));
      expect(await messagesOf(begun)).toEqual([
        {
          id: begun.messageId,
          role: "user",
          content: "你好 😀 \u202Eabc",
          completed: true,
          tokenCount: 7,
          metadata: { turn_id: begun.turnId },
          createdAt: expect.any(Date),
        },
      ]);
      expect(await messageCount(begun)).toBe(1);
    });

    test("gets the conversation of a session that has one", async () => {
      const first = await completeTurn(turns, sampleTurn());
      const second = await beginFreely(turns, sampleTurn({ sessionId: first.sessionId }));
      expect(second.conversationId).toBe(first.conversationId);
      expect(second.messageId).not.toBe(first.messageId);
      expect(await messageCount(second)).toBe(3);
    });

    test("gives null while another turn holds the conversation, and stores nothing", async () => {
      const held = await beginFreely(turns, sampleTurn());
      expect(await turns.begin(sampleTurn({ sessionId: held.sessionId }))).toBeNull();
      expect(await messagesOf(held)).toHaveLength(1);
      expect(await messageCount(held)).toBe(1);
    });

    test.each(["a new", "an existing"])("lets exactly one of many in that begin at once in %s conversation", async (kind) => {
      const { sessionId } = kind === "a new" ? sampleTurn() : await completeTurn(turns, sampleTurn());
      const stored = kind === "a new" ? 0 : 2;
      const attempts = await Promise.all(Array.from({ length: 8 }, () => turns.begin(sampleTurn({ sessionId }))));
      const winners = attempts.filter((attempt) => attempt !== null);
      expect(winners).toHaveLength(1);
      const held = { ...sampleTurn({ sessionId }), conversationId: winners[0]?.conversationId ?? "" };
      expect(await messagesOf(held)).toHaveLength(stored + 1);
      expect(await messageCount(held)).toBe(stored + 1);
    });

    test("lets a turn in once the lease of a dead one has run out", async () => {
      const dead = await beginFreely(turns, sampleTurn({ leaseMs: 1_000 }));
      expect(await turns.begin(sampleTurn({ sessionId: dead.sessionId }))).toBeNull();
      await sleep(1_050);
      const next = await beginFreely(turns, sampleTurn({ sessionId: dead.sessionId }));
      expect(next.conversationId).toBe(dead.conversationId);
      expect((await messagesOf(dead)).map(({ id }) => id)).toEqual([dead.messageId, next.messageId]);
    });
  });

  describe("renew", () => {
    test("holds a conversation longer than its first lease", async () => {
      const held = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
      expect(await turns.renew(held, LONG_LEASE_MS)).toBe(true);
      expect(await turns.begin(sampleTurn({ sessionId: held.sessionId }))).toBeNull();
    });

    test("is refused when another turn took the conversation over, and leaves that one its lease", async () => {
      const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
      await beginFreely(turns, sampleTurn({ sessionId: late.sessionId }));
      expect(await turns.renew(late, EXPIRED_LEASE_MS)).toBe(false);
      expect(await turns.begin(sampleTurn({ sessionId: late.sessionId }))).toBeNull();
    });

    test("is refused after the turn's end", async () => {
      expect(await turns.renew(await completeTurn(turns, sampleTurn()), LONG_LEASE_MS)).toBe(false);
    });

    test("is refused when the conversation was deleted", async () => {
      const held = await beginFreely(turns, sampleTurn());
      await erases.conversation(held);
      expect(await turns.renew(held, LONG_LEASE_MS)).toBe(false);
    });

    test.each([{ tenantId: "other" }, { userId: "other" }, { turnId: uuidv7() }])("is refused to anyone else: %p", async (fields) => {
      const held = await beginFreely(turns, sampleTurn());
      expect(await turns.renew({ ...held, ...fields }, LONG_LEASE_MS)).toBe(false);
    });
  });

  describe("finish", () => {
    test("stores the answer behind the question and frees the conversation", async () => {
      const held = await beginFreely(turns, sampleTurn());
      const answer = sampleAnswer({
        content: "答案 $1 '; drop table messages; --",
        tokenCount: 9,
        metadata: { usage: { total_tokens: 12 } },
      });
      expect(await turns.finish(held, answer)).toBe("stored");
      const { messageId: id, ...stored } = answer;
      const [question, found] = await messagesOf(held);
      expect(question?.id).toBe(held.messageId);
      const metadata = { ...stored.metadata, turn_id: held.turnId };
      expect(found).toEqual({ id, role: "assistant", ...stored, metadata, createdAt: expect.any(Date) });
      expect(found?.createdAt.getTime()).toBeGreaterThan(question?.createdAt.getTime() ?? Infinity);
      expect(await messageCount(held)).toBe(2);
      await beginFreely(turns, sampleTurn({ sessionId: held.sessionId }));
    });

    test("keeps an incomplete answer as incomplete", async () => {
      const held = await beginFreely(turns, sampleTurn());
      expect(await turns.finish(held, sampleAnswer({ content: "half an ans", completed: false }))).toBe("stored");
      expect((await messagesOf(held))[1]).toMatchObject({ content: "half an ans", completed: false });
    });

    test("without an answer frees the conversation and stores nothing", async () => {
      const held = await beginFreely(turns, sampleTurn());
      expect(await turns.finish(held, null)).toBe("stored");
      expect(await messagesOf(held)).toHaveLength(1);
      expect(await messageCount(held)).toBe(1);
      await beginFreely(turns, sampleTurn({ sessionId: held.sessionId }));
    });

    test("keeps the answer of a superseded turn as incomplete, and leaves the other turn its lease", async () => {
      const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
      const current = await beginFreely(turns, sampleTurn({ sessionId: late.sessionId }));
      expect(await turns.finish(late, sampleAnswer({ content: "too late" }))).toBe("superseded");
      expect((await messagesOf(late)).at(-1)).toMatchObject({ content: "too late", completed: false });
      expect(await turns.begin(sampleTurn({ sessionId: late.sessionId }))).toBeNull();
      expect(await turns.finish(current, sampleAnswer())).toBe("stored");
      expect(await messageCount(current)).toBe(4);
    });

    test("of a superseded turn without an answer leaves the other turn its lease", async () => {
      const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
      await beginFreely(turns, sampleTurn({ sessionId: late.sessionId }));
      expect(await turns.finish(late, null)).toBe("superseded");
      expect(await turns.begin(sampleTurn({ sessionId: late.sessionId }))).toBeNull();
    });

    test("writes nothing when the conversation was deleted", async () => {
      const held = await beginFreely(turns, sampleTurn());
      await erases.conversation(held);
      expect(await turns.finish(held, sampleAnswer())).toBe("gone");
      expect(await messagesOf(held)).toEqual([]);
      expect(await conversations.find(held, held.conversationId)).toBeNull();
    });

    test.each([{ tenantId: "other" }, { userId: "other" }])("writes nothing for another owner: %p", async (fields) => {
      const held = await beginFreely(turns, sampleTurn());
      expect(await turns.finish({ ...held, ...fields }, sampleAnswer())).toBe("gone");
      expect(await messagesOf(held)).toHaveLength(1);
      expect(await turns.begin(sampleTurn({ sessionId: held.sessionId }))).toBeNull();
    });

    test("again with the same message id changes nothing and counts once", async () => {
      const held = await beginFreely(turns, sampleTurn());
      const answer = sampleAnswer();
      await turns.finish(held, answer);
      const stored = await messagesOf(held);
      expect(await turns.finish(held, { ...answer, content: "something else" })).toBe("stored");
      expect(await messagesOf(held)).toEqual(stored);
      expect(await messageCount(held)).toBe(2);
    });

    test("at the same moment with the same message id is stored and counted once", async () => {
      const held = await beginFreely(turns, sampleTurn());
      const answer = sampleAnswer();
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => turns.finish(held, answer)));
      expect(outcomes).toEqual(Array.from({ length: 5 }, () => "stored"));
      expect(await messagesOf(held)).toHaveLength(2);
      expect(await messageCount(held)).toBe(2);
    });

    test("again while the next turn runs leaves that one its lease", async () => {
      const held = await beginFreely(turns, sampleTurn());
      const answer = sampleAnswer();
      await turns.finish(held, answer);
      const next = await beginFreely(turns, sampleTurn({ sessionId: held.sessionId }));
      expect(await turns.finish(held, answer)).toBe("stored");
      expect(await turns.begin(sampleTurn({ sessionId: held.sessionId }))).toBeNull();
      expect(await messageCount(next)).toBe(3);
    });

    test("again for a superseded turn stays superseded", async () => {
      const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
      await beginFreely(turns, sampleTurn({ sessionId: late.sessionId }));
      const answer = sampleAnswer();
      expect(await turns.finish(late, answer)).toBe("superseded");
      expect(await turns.finish(late, answer)).toBe("superseded");
      expect(await messageCount(late)).toBe(3);
    });
  });
});
