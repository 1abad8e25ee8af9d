import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { BeginTurn, BegunTurn } from "../../../../stores/postgres/turns/recover-turn.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/turns/recover-turn.ts";

const OUTCOME: OutcomeToStore = { outcome: { completed: true }, ifSuperseded: { completed: false } };

describeStores("the turn store", ({ database, turns, messagesOf, messageCountOf, jobsOf, begin, complete }) => {
  const isBusy = async ({ sessionId }: BeginTurn): Promise<boolean> => (await turns.begin(sampleTurn({ sessionId }))) === null;
  const countsOf = async (held: BegunTurn & BeginTurn) => [(await messagesOf(held)).length, await messageCountOf(held)];
  /** A turn whose lease has run out, and the one that has the conversation since. */
  async function beginTwice(): Promise<[late: BegunTurn & BeginTurn, current: BegunTurn & BeginTurn]> {
    const late = await begin({ leaseMs: EXPIRED_LEASE_MS });
    return [late, await begin({ sessionId: late.sessionId })];
  }

  describe("begin", () => {
    test("creates the conversation of a new session and stores the user's message", async () => {
      const begun = await begin({ message: "你好 😀 \u202Eabc", tokenCount: 7 });
      const message = { id: begun.messageId, role: "user", content: "你好 😀 \u202Eabc", completed: true, tokenCount: 7 };
      expect(await messagesOf(begun)).toEqual([
        { ...message, metadata: { turn_id: begun.turnId }, rating: null, attachments: [], createdAt: expect.any(Date) },
      ]);
      expect(await messageCountOf(begun)).toBe(1);
    });

    test.each([["a new", 0] as const, ["an existing", 2] as const])(
      "lets one of many in that begin at once in %s conversation",
      async (_kind, stored) => {
        const { sessionId } = stored === 0 ? sampleTurn() : await complete();
        const attempts = await Promise.all(Array.from({ length: 8 }, () => turns.begin(sampleTurn({ sessionId }))));
        const [winner, ...others] = attempts.filter((attempt) => attempt !== null);
        if (!winner) throw new Error("nobody got in");
        expect(others).toEqual([]);
        expect(await countsOf({ ...sampleTurn({ sessionId }), ...winner })).toEqual([stored + 1, stored + 1]);
      },
    );

    test("lets a turn in once the lease of a dead one has run out", async () => {
      const dead = await begin({ leaseMs: 1_000 });
      expect(await isBusy(dead)).toBe(true);
      await sleep(1_050);
      const next = await begin({ sessionId: dead.sessionId });
      expect(next.conversationId).toBe(dead.conversationId);
      expect((await messagesOf(dead)).map(({ id }) => id)).toEqual([dead.messageId, next.messageId]);
    });
  });

  describe("renew", () => {
    test("holds a conversation longer than its first lease", async () => {
      const held = await begin({ leaseMs: EXPIRED_LEASE_MS });
      expect(await turns.renew(held, LONG_LEASE_MS)).toBe(true);
      expect(await isBusy(held)).toBe(true);
    });

    test("is refused when another turn took the conversation over, and leaves that one its lease", async () => {
      const [late] = await beginTwice();
      expect(await turns.renew(late, EXPIRED_LEASE_MS)).toBe(false);
      expect(await isBusy(late)).toBe(true);
    });

    test("is refused after the turn's end, and to anyone else", async () => {
      expect(await turns.renew(await complete(), LONG_LEASE_MS)).toBe(false);
      const held = await begin();
      for (const fields of [{ tenantId: "other" }, { userId: "other" }, { turnId: uuidv7() }])
        expect(await turns.renew({ ...held, ...fields }, LONG_LEASE_MS)).toBe(false);
    });
  });

  describe("finish", () => {
    test.each([true, false])("stores the answer and its jobs, and frees the conversation; question named: %p", async (isQuestionNamed) => {
      const held = await begin();
      const fields = { content: "答案 $1 '; drop table messages; --", tokenCount: 9, metadata: { usage: { total_tokens: 12 } } };
      const answer = sampleAnswer(fields);
      const { tenantId, userId, conversationId } = held;
      const job = { kind: "summarise" as const, tenantId, userId, conversationId };
      const named = isQuestionNamed ? { ...answer, userMessageId: held.messageId } : answer;
      expect(await turns.finish(held, named, isQuestionNamed ? [job] : [])).toBe("stored");
      const { messageId: id, ...stored } = answer;
      const [question, found] = await messagesOf(held);
      expect(question?.id).toBe(held.messageId);
      const metadata = { ...stored.metadata, turn_id: held.turnId };
      expect(found).toEqual({ id, role: "assistant", ...stored, metadata, rating: null, attachments: [], createdAt: expect.any(Date) });
      expect(found?.createdAt.getTime()).toBeGreaterThan(question?.createdAt.getTime() ?? Infinity);
      expect(await messageCountOf(held)).toBe(2);
      expect(await jobsOf(conversationId)).toEqual(isQuestionNamed ? [job] : []);
      expect(await isBusy(held)).toBe(false);
    });

    test("keeps an incomplete answer as incomplete", async () => {
      const held = await begin();
      expect(await turns.finish(held, sampleAnswer({ content: "half an ans", completed: false }))).toBe("stored");
      expect((await messagesOf(held))[1]).toMatchObject({ content: "half an ans", completed: false });
    });

    test.each([true, false])("keeps a superseded turn's answer as incomplete, and the other's lease (%p)", async (isQuestionNamed) => {
      const [late, current] = await beginTwice();
      const answer = sampleAnswer({ content: "too late", ...(isQuestionNamed ? { userMessageId: late.messageId } : {}) });
      expect([await turns.finish(late, answer), await turns.finish(late, answer)]).toEqual(["superseded", "superseded"]);
      expect((await messagesOf(late)).at(-1)).toMatchObject({ content: "too late", completed: false });
      expect(await isBusy(late)).toBe(true);
      expect(await messageCountOf(late)).toBe(3);
      expect(await turns.finish(current, sampleAnswer())).toBe("stored");
      expect(await messageCountOf(current)).toBe(4);
    });

    test("leaves the other turn its lease when a superseded turn has no answer", async () => {
      const [late] = await beginTwice();
      expect(await turns.finish(late, null)).toBe("superseded");
      expect(await isBusy(late)).toBe(true);
    });

    test("stores no answer to a question that is gone, nor its job, counts nothing and frees the conversation", async () => {
      const held = await begin();
      const lastMessageAt = () =>
        database.query({ text: "select last_message_at from conversations where id = $1", values: [held.conversationId] });
      const before = await lastMessageAt();
      const { tenantId, userId, conversationId } = held;
      const job = { kind: "summarise" as const, tenantId, userId, conversationId };
      expect(await turns.finish(held, sampleAnswer({ userMessageId: uuidv7() }), [job])).toBe("gone");
      expect([await countsOf(held), await lastMessageAt()]).toEqual([[1, 1], before]);
      expect(await jobsOf(conversationId)).toEqual([]);
      expect(await isBusy(held)).toBe(false);
    });

    test.each([{ tenantId: "other" }, { userId: "other" }])("writes nothing for another owner: %p", async (fields) => {
      const held = await begin();
      expect(await turns.finish({ ...held, ...fields }, sampleAnswer())).toBe("gone");
      expect(await messagesOf(held)).toHaveLength(1);
      expect(await isBusy(held)).toBe(true);
    });

    test.each([
      ["an answer", sampleAnswer(), undefined],
      ["an answer and its outcome", sampleAnswer(), OUTCOME],
      ["an outcome alone", null, OUTCOME],
    ])("of %s a second time changes nothing, even while the next turn runs, which keeps its lease", async (_what, answer, outcome) => {
      const held = await begin();
      expect(await turns.finish(held, answer, [], outcome)).toBe("stored");
      const stored = await messagesOf(held);
      expect(await turns.finish(held, answer && { ...answer, content: "something else" }, [], outcome)).toBe("stored");
      expect([await messagesOf(held), await messageCountOf(held)]).toEqual([stored, stored.length]);
      const next = await begin({ sessionId: held.sessionId });
      expect(await turns.finish(held, answer, [], outcome)).toBe("stored");
      expect(await isBusy(next)).toBe(true);
      expect(await countsOf(next)).toEqual([stored.length + 1, stored.length + 1]);
    });

    test("stores and counts once when it is called twice at the same moment with the same message id", async () => {
      const held = await begin();
      const answer = sampleAnswer();
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => turns.finish(held, answer)));
      expect(outcomes).toEqual(Array.from({ length: 5 }, () => "stored"));
      expect(await countsOf(held)).toEqual([2, 2]);
    });
  });
});
