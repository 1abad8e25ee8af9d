import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import { makeMessageStore, type StoredMessage } from "../../../../stores/postgres/conversations/message-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { beginFreely, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { HeldTurn } from "../../../../stores/postgres/conversations/begin-turn.ts";

describeOnBothDatabases("the end of a turn", (open) => {
  let database: Database;
  let turns: TurnStore;
  beforeAll(async () => {
    database = await open();
    turns = makeTurnStore(database);
  });
  afterAll(() => database.close());

  const messagesOf = async (held: HeldTurn): Promise<StoredMessage[]> =>
    (await makeMessageStore(database).list(held, { limit: 100, after: null })).items;
  const messageCount = async ({ tenantId, conversationId }: HeldTurn) =>
    (await makeConversationStore(database).find({ tenantId, userId: null }, conversationId))?.messageCount;
  async function jobsOf(conversationId: string): Promise<object[]> {
    const text = "select data from pgboss.job where data->>'conversationId' = $1";
    return (await database.query<{ data: object }>({ text, values: [conversationId] })).map(({ data }) => data);
  }

  test("with the id of its question, which is there, stores the answer and its jobs as without", async () => {
    const held = await beginFreely(turns, sampleTurn());
    const answer = sampleAnswer({ questionId: held.messageId });
    const { tenantId, userId, conversationId } = held;
    expect(await turns.finish(held, answer, [{ kind: "summarise", tenantId, userId, conversationId }])).toBe("stored");
    const { messageId: id, content, completed, tokenCount, metadata } = answer;
    const [question, found] = await messagesOf(held);
    expect(question?.id).toBe(held.messageId);
    expect(found).toEqual({
      id,
      role: "assistant",
      content,
      completed,
      tokenCount,
      metadata: { ...metadata, turn_id: held.turnId },
      createdAt: expect.any(Date),
    });
    expect(found?.createdAt.getTime()).toBeGreaterThan(question?.createdAt.getTime() ?? Infinity);
    expect(await messageCount(held)).toBe(2);
    expect(await jobsOf(conversationId)).toEqual([{ kind: "summarise", tenantId, userId, conversationId }]);
    await beginFreely(turns, sampleTurn({ sessionId: held.sessionId }));
  });

  test("with the id of its question, when another turn has the conversation, keeps what there is as incomplete", async () => {
    const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    await beginFreely(turns, sampleTurn({ sessionId: late.sessionId }));
    expect(await turns.finish(late, sampleAnswer({ questionId: late.messageId, content: "too late" }))).toBe("superseded");
    expect((await messagesOf(late)).at(-1)).toMatchObject({ content: "too late", completed: false });
    expect(await messageCount(late)).toBe(3);
  });

  test("with the id of a question that is gone stores no answer and no job, counts nothing and frees the conversation", async () => {
    const held = await beginFreely(turns, sampleTurn());
    const text = "select last_message_at from conversations where id = $1";
    const lastMessageAt = () => database.query({ text, values: [held.conversationId] });
    const before = await lastMessageAt();
    const { tenantId, userId, conversationId } = held;
    const job = { kind: "summarise" as const, tenantId, userId, conversationId };
    expect(await turns.finish(held, sampleAnswer({ questionId: uuidv7() }), [job])).toBe("gone");
    expect((await messagesOf(held)).map(({ id }) => id)).toEqual([held.messageId]);
    expect([await messageCount(held), await lastMessageAt()]).toEqual([1, before]);
    expect(await jobsOf(conversationId)).toEqual([]);
    await beginFreely(turns, sampleTurn({ sessionId: held.sessionId }));
  });
});
