import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { clearOldTurns, makeTurnRecordStore } from "../../../../stores/postgres/conversations/turn-record-store.ts";
import { makeMessageStore } from "../../../../stores/postgres/conversations/message-store.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { ReplyLost } from "../../../../stores/postgres/database/storage-errors.ts";
import { makeTurnStore, type OutcomeToStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { createRealDatabase, describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { holdConversations } from "../../../support/databases/hold-conversations.ts";
import { beginFreely, completeTurn, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { startTcpProxy, type TcpProxy } from "../../../servers/tcp-proxy.ts";

const OUTCOME: OutcomeToStore = { outcome: { completed: true }, ifSuperseded: { completed: false } };

describeOnBothDatabases("a begin whose reply was lost", (open) => {
  let database: Database;
  let turns: TurnStore;
  beforeAll(async () => {
    database = await open();
    turns = makeTurnStore(database);
  });
  afterAll(() => database.close());

  const contents = async (conversationId: string): Promise<string[]> => {
    const conversation = { tenantId: "tenant", userId: "user", conversationId };
    const { items } = await makeMessageStore(database).list(conversation, { limit: 50, after: null });
    return items.map(({ content }) => content);
  };

  test("is found with its conversation and its message when it was stored", async () => {
    const { conversationId, messageId, ...turn } = await beginFreely(turns, sampleTurn());
    expect(await turns.findBegun(turn)).toEqual({ conversationId, messageId });
    expect(await turns.findBegun({ ...turn, userId: "another" })).toBeNull();
  });

  test("never takes place once it was looked for in vain, and nothing of it is stored", async () => {
    const turn = sampleTurn();
    expect(await turns.findBegun(turn)).toBeNull();
    expect(await turns.findBegun(turn)).toBeNull();
    await expect(turns.begin(turn)).rejects.toThrow();
    const { conversationId } = await completeTurn(turns, sampleTurn({ sessionId: turn.sessionId, message: "sent again" }));
    expect(await contents(conversationId)).toEqual(["sent again", "an answer"]);
    expect(await makeTurnRecordStore(database).find({ tenantId: "tenant", userId: null }, turn.turnId)).toBeNull();
  });

  test("is taken back whole: its message is gone, and the conversation is as it was before", async () => {
    const { sessionId, conversationId } = await completeTurn(turns, sampleTurn());
    await turns.takeBack(await beginFreely(turns, sampleTurn({ sessionId, message: "nobody was told of this" })));
    expect(await contents(conversationId)).toEqual(["a question", "an answer"]);
    await completeTurn(turns, sampleTurn({ sessionId, message: "sent again" }));
    expect(await contents(conversationId)).toEqual(["a question", "an answer", "sent again", "an answer"]);
    const counted = { text: "select message_count from conversations where id = $1", values: [conversationId] };
    expect(await database.query(counted)).toEqual([{ message_count: 4 }]);
  });

  test("is not taken back from another turn that has the conversation by now", async () => {
    const { sessionId, conversationId, ...lost } = await beginFreely(turns, sampleTurn({ leaseMs: -1_000 }));
    await completeTurn(turns, sampleTurn({ sessionId, message: "the next one" }));
    await turns.takeBack({ ...lost, conversationId });
    expect(await contents(conversationId)).toEqual(["a question", "the next one", "an answer"]);
  });

  test("leaves an id behind for a day, and then nothing", async () => {
    const turn = sampleTurn();
    await turns.findBegun(turn);
    await database.query({ text: "update turns set started_at = started_at - interval '25 hours' where id = $1", values: [turn.turnId] });
    await clearOldTurns(database);
    expect(await database.query({ text: "select from turns where id = $1", values: [turn.turnId] })).toEqual([]);
  });

  test.each([
    ["an answer", sampleAnswer],
    ["no answer", () => null],
  ])("has its brother at the end of a turn: storing %s again says what it said, and changes nothing", async (_name, makeAnswer) => {
    const begun = await beginFreely(turns, sampleTurn());
    const answer = makeAnswer();
    expect(await turns.finish(begun, answer, [], OUTCOME)).toBe("stored");
    const stored = await contents(begun.conversationId);
    await beginFreely(turns, sampleTurn({ sessionId: begun.sessionId }));
    expect(await turns.finish(begun, answer, [], OUTCOME)).toBe("stored");
    expect(await contents(begun.conversationId)).toEqual([...stored, "a question"]);
  });
});

describe("a real Postgres that answers nothing any more", () => {
  let url: string;
  let drop: () => Promise<void>;
  let proxy: TcpProxy;
  let late: Database;
  beforeAll(async () => {
    ({ url, drop } = await createRealDatabase());
    proxy = await startTcpProxy(url);
    late = await openPostgres(proxy.url, { connectMs: 500, statementMs: 500 });
  });
  afterEach(() => proxy.restore());
  afterAll(async () => {
    await late.close();
    await proxy.close();
    await drop();
  });

  test("has stored a begin whose reply it lost, which is found on another connection", async () => {
    const turns = makeTurnStore(late);
    const turn = sampleTurn();
    await late.query({ text: "select 1" });
    proxy.loseReplies();
    await expect(turns.begin(turn)).rejects.toBeInstanceOf(ReplyLost);
    await proxy.restore();
    expect(await turns.findBegun(turn)).toMatchObject({ messageId: expect.any(String) });
  });

  test("gives a begin up that waits for a lock, before its client does: nothing of it comes later", async () => {
    const turns = makeTurnStore(late);
    const first = await completeTurn(turns, sampleTurn());
    const lock = await holdConversations(url);
    const refused = await turns.begin(sampleTurn({ sessionId: first.sessionId })).catch((error: unknown) => error);
    await lock.release();
    expect(refused).toMatchObject({ code: "storage_unavailable" });
    expect(refused).not.toBeInstanceOf(ReplyLost);
    const counted = { text: "select message_count from conversations where id = $1", values: [first.conversationId] };
    expect(await late.query(counted)).toEqual([{ message_count: 2 }]);
  });
});
