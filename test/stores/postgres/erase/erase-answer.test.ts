import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../stores/owner.ts";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeEraseStore, type EraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import { makeImportStore } from "../../../../stores/postgres/conversations/import-store.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { clearJobs } from "../../../support/samples/sample-jobs.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { rememberConversation, storeExchange, type RememberedConversation } from "../../../support/samples/user-with-memory.ts";

describeOnBothDatabases("the answer that is erased with a question", (open) => {
  let database: Database;
  let erases: EraseStore;
  let turns: TurnStore;
  let owner: Owner;
  let conversation: RememberedConversation;
  let word: string;
  beforeAll(async () => {
    database = await open();
    erases = makeEraseStore(database);
    turns = makeTurnStore(database);
  });
  beforeEach(async () => {
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    conversation = await rememberConversation(database, owner, word);
  });
  afterAll(() => database.close());

  const stored = async (): Promise<string[]> => {
    const text = "select id from messages where conversation_id = $1 order by created_at, id";
    return (await database.query<{ id: string }>({ text, values: [conversation.conversationId] })).map(({ id }) => id);
  };
  const messageCount = async () => (await makeConversationStore(database).find(owner, conversation.conversationId))?.messageCount;
  const idsOf = (...numbers: number[]): string[] =>
    numbers.flatMap((number) => [conversation.exchanges[number]?.messageId ?? "", conversation.exchanges[number]?.answerId ?? ""]);

  test("is taken when it was cut short; a question without an answer goes alone", async () => {
    const turn = sampleTurn({ ...owner, sessionId: conversation.sessionId });
    const answer = sampleAnswer({ content: "half", completed: false, metadata: { turn_id: turn.turnId } });
    const cut = await completeTurn(turns, turn, answer);
    const none = await completeTurn(turns, sampleTurn({ ...owner, sessionId: conversation.sessionId }), null);
    expect((await erases.episode(owner, none.messageId))?.erased.messages).toBe(1);
    expect((await erases.episode(owner, cut.messageId))?.erased.messages).toBe(2);
    expect(await stored()).toEqual(idsOf(0, 1));
    expect(await messageCount()).toBe(4);
  });

  test("is not that of the exchange behind it when there is none", async () => {
    const none = await completeTurn(turns, sampleTurn({ ...owner, sessionId: conversation.sessionId }), null);
    const next = await storeExchange(database, owner, conversation.sessionId, word);
    expect((await erases.episode(owner, none.messageId))?.erased.messages).toBe(1);
    expect(await stored()).toEqual([...idsOf(0, 1), next.messageId, next.answerId]);
  });

  test("is not stored afterwards by a turn whose lease had run out and that had not ended", async () => {
    const turn = await beginFreely(turns, sampleTurn({ ...owner, sessionId: conversation.sessionId, leaseMs: EXPIRED_LEASE_MS }));
    expect((await erases.episode(owner, turn.messageId))?.erased.messages).toBe(1);
    await clearJobs(database);
    const answer = sampleAnswer({ questionId: turn.messageId, content: "the erased answer" });
    expect(await turns.finish(turn, answer, [{ kind: "remember", ...owner }])).toBe("gone");
    expect(await messageCount()).toBe(4);
    expect(await tablesHolding(database, '"remember"')).toEqual({});
    expect(await stored()).toEqual(idsOf(0, 1));
  });

  test("is that of the same turn, and not one that came late, behind the next question", async () => {
    const { sessionId } = conversation;
    const late = await beginFreely(turns, sampleTurn({ ...owner, sessionId, leaseMs: EXPIRED_LEASE_MS }));
    const next = await beginFreely(turns, sampleTurn({ ...owner, sessionId }));
    const [half, whole] = [late, next].map(({ turnId }) => sampleAnswer({ metadata: { turn_id: turnId } }));
    if (!half || !whole) throw new Error("there are two answers");
    expect(await turns.finish(late, half)).toBe("superseded");
    expect(await turns.finish(next, whole)).toBe("stored");
    await erases.episode(owner, next.messageId); // an episode of the index, whose answer is `whole`
    expect(await stored()).not.toContain(whole.messageId);
    expect(await stored()).toContain(half.messageId);
  });

  test("is that of the same turn, although a message was imported in between", async () => {
    const [, second] = conversation.exchanges;
    const text = "select created_at from messages where id = $1";
    const [asked] = await database.query<{ created_at: Date }>({ text, values: [second?.messageId ?? ""] });
    const messages = [{ role: "user" as const, content: "imported", createdAt: asked?.created_at ?? null, metadata: {} }];
    await makeImportStore(database).import({ ...owner, sessionId: conversation.sessionId, messages, jobKinds: [] });
    await erases.episode(owner, second?.messageId ?? "");
    expect(await stored()).toHaveLength(3);
    expect(await stored()).not.toContain(second?.answerId);
  });

  test("is the one right behind the question among imported messages, and not one of a turn", async () => {
    const messages = (["user", "assistant", "user", "user", "assistant"] as const).map((role, minute) => {
      return { role, content: `imported ${minute}`, createdAt: new Date(Date.UTC(2020, 0, 1, 12, minute)), metadata: {} };
    });
    const sessionId = "an imported one";
    const { conversationId } = await makeImportStore(database).import({ ...owner, sessionId, messages, jobKinds: [] });
    const turn = await storeExchange(database, owner, sessionId, "something else");
    const text = "select id, content from messages where conversation_id = $1 order by created_at, id";
    const left = () => database.query<{ id: string; content: string }>({ text, values: [conversationId] });
    const [first, , alone, last] = await left();
    expect((await erases.episode(owner, alone?.id ?? ""))?.erased.messages).toBe(1);
    for (const asked of [first, last]) expect((await erases.episode(owner, asked?.id ?? ""))?.erased.messages).toBe(2);
    expect((await left()).map(({ id }) => id)).toEqual([turn.messageId, turn.answerId]);
  });
});
