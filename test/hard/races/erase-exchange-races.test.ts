import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../stores/owner.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { openRacingDatabases, type RacingDatabases } from "./racing-databases.ts";
import { beginFreely, EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { sampleSummary } from "../../support/databases/stored-conversation.ts";
import { rememberConversation, storeExchange, type RememberedConversation } from "../../support/samples/user-with-memory.ts";

describe("an erase of one exchange beside another process on real Postgres", () => {
  let databases: RacingDatabases;
  let one: Database;
  let other: Database;
  let owner: Owner;
  let kept: RememberedConversation;
  let word: string;
  beforeAll(async () => {
    databases = await openRacingDatabases();
    ({ one, other } = databases);
  });
  beforeEach(async () => {
    owner = { tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` };
    word = `canary${uuidv7()}`;
    kept = await rememberConversation(one, owner, word);
  });
  afterAll(() => databases.close());

  const begin = (database: Database, sessionId: string) =>
    beginFreely(makeTurnStore(database), sampleTurn({ ...owner, sessionId, message: word }));
  /** Messages with the canary word, by conversation. */
  const left = () =>
    one.query<{ id: string; count: number }>({
      text: "select conversation_id as id, count(*)::int as count from messages where strpos(content, $1) > 0 group by 1",
      values: [word],
    });

  test("an erase of an exchange waits for a turn that begins, and is refused; it waits for one that ends, and is done", async () => {
    const episode = (): Promise<unknown> =>
      makeEraseStore(other)
        .episode(owner, kept.exchanges[0]?.messageId ?? "")
        .catch((error: unknown) => error);
    const [turn, refused] = await databases.meet((inside) => begin(inside, kept.sessionId), episode);
    expect(refused).toMatchObject({ code: "conversation_busy" });
    const [outcome, done] = await databases.meet((inside) => makeTurnStore(inside).finish(turn, sampleAnswer()), episode);
    expect([outcome, done]).toEqual(["stored", expect.objectContaining({ erased: expect.objectContaining({ messages: 2 }) })]);
  });

  test("an erase of an exchange sees that the lease, which had run out, has just been renewed, and is refused", async () => {
    const turn = await begin(one, kept.sessionId);
    await makeTurnStore(one).renew(turn, EXPIRED_LEASE_MS);
    const [renewed, refused] = await databases.meet(
      (inside) => makeTurnStore(inside).renew(turn, LONG_LEASE_MS),
      () =>
        makeEraseStore(other)
          .episode(owner, turn.messageId)
          .catch((error: unknown) => error),
    );
    expect([renewed, refused]).toEqual([true, expect.objectContaining({ code: "conversation_busy" })]);
    expect(await left()).toEqual([{ id: kept.conversationId, count: 5 }]);
  });

  // The statement looks for the question as it was before it waited.
  test("a turn whose lease has run out and that ends during an erase of its question waits, is gone, and stores no answer", async () => {
    const turn = await begin(one, kept.sessionId);
    await makeTurnStore(one).renew(turn, EXPIRED_LEASE_MS);
    const answer = sampleAnswer({ questionId: turn.messageId, content: `the answer to ${word}`, metadata: { turn_id: turn.turnId } });
    const job = { kind: "summarise" as const, ...owner, conversationId: kept.conversationId };
    const [, outcome] = await databases.meet(
      (inside) => makeEraseStore(inside).episode(owner, turn.messageId),
      () => makeTurnStore(other).finish(turn, answer, [job]),
    );
    expect(outcome).toBe("gone");
    expect(await tablesHolding(one, `the answer to ${word}`)).toEqual({});
  });

  test("an erase of an exchange takes the answer of a turn whose lease has run out and that is ending", async () => {
    const turn = await begin(one, kept.sessionId);
    await makeTurnStore(one).renew(turn, EXPIRED_LEASE_MS);
    const answer = sampleAnswer({ questionId: turn.messageId, content: `the answer to ${word}`, metadata: { turn_id: turn.turnId } });
    const [outcome, rows] = await databases.meet(
      (inside) => makeTurnStore(inside).finish(turn, answer),
      () => makeEraseStore(other).episode(owner, turn.messageId),
    );
    expect([outcome, rows?.erased.messages]).toEqual(["stored", 2]);
    expect(await tablesHolding(one, `the answer to ${word}`)).toEqual({});
    expect(await left()).toEqual([{ id: kept.conversationId, count: 4 }]);
  });

  test.each(["a first", "a next"])("%s summary that is saved during an erase of one exchange waits, and is refused", async (which) => {
    const exchange = await storeExchange(one, owner, which === "a next" ? kept.sessionId : uuidv7(), word);
    const conversation = { ...owner, conversationId: exchange.conversationId };
    const { summary, messages, rewrites } = await makeSummaryStore(one).readBacklog(conversation, 40);
    expect(summary === null).toBe(which === "a first");
    const [last] = messages.slice(-1);
    if (!last) throw new Error("nothing was read");
    const before = await makeSummaryStore(one).find(conversation);
    const next = sampleSummary(last, { readVersion: summary?.version ?? 0, text: `Summary: ${exchange.messageId}`, rewrites });
    const [rows, isSaved] = await databases.meet(
      (inside) => makeEraseStore(inside).episode(owner, exchange.messageId),
      () => makeSummaryStore(other).save(conversation, next),
    );
    expect([rows?.erased.messages, isSaved]).toEqual([2, false]);
    expect(await makeSummaryStore(one).find(conversation)).toEqual(before);
    expect(await tablesHolding(one, `Summary: ${exchange.messageId}`)).toEqual({});
  });

  test("an erase of one exchange waits for a summary of it that is saved, and has it made anew", async () => {
    const exchange = await storeExchange(one, owner, uuidv7(), word);
    const conversation = { ...owner, conversationId: exchange.conversationId };
    const { messages, rewrites } = await makeSummaryStore(one).readBacklog(conversation, 40);
    const [last] = messages.slice(-1);
    if (!last) throw new Error("nothing was read");
    const [isSaved, rows] = await databases.meet(
      (inside) => makeSummaryStore(inside).save(conversation, sampleSummary(last, { text: `Summary: ${exchange.messageId}`, rewrites })),
      () => makeEraseStore(other).episode(owner, exchange.messageId),
    );
    expect([isSaved, rows?.erased.summaries]).toEqual([true, 1]);
    expect(await makeSummaryStore(one).find(conversation)).toMatchObject({ version: 2, text: "" });
    expect(await tablesHolding(one, `Summary: ${exchange.messageId}`)).toEqual({});
  });
});
