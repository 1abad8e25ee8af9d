import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Database, Queryable } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { beginFreely, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { placeOf, sampleSummary, storeConversation, summariseThrough } from "../../support/databases/stored-conversation.ts";
import { waitUntil } from "../../support/wait-until.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

describe("the summary store of two processes on real Postgres", () => {
  let one: Database;
  let other: Database;
  let drop: () => Promise<void>;
  let conversation: OwnedConversation & { sessionId: string };
  beforeAll(async () => {
    const real = await createRealDatabase();
    drop = real.drop;
    [one, other] = await Promise.all([openPostgres(real.url), openPostgres(real.url)]);
  });
  afterAll(async () => {
    await one.close();
    await other.close();
    await drop();
  });
  beforeEach(async () => {
    conversation = await storeConversation(one, { count: 10 });
  });

  async function isWaitingForLock(): Promise<boolean> {
    const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await one.query({ text })).length > 0;
  }

  /** Runs `work` in a transaction of `one` and commits it once `later`, begun before the commit, waits for its lock. */
  async function whileHeld<Result>(work: (transaction: Queryable) => Promise<unknown>, later: () => Promise<Result>): Promise<Result> {
    let begun: Promise<Result> | undefined;
    await one.transaction(async (transaction) => {
      await work(transaction);
      begun = later();
      begun.catch(() => undefined); // heard below
      await waitUntil("the other process to wait for the lock", isWaitingForLock);
    });
    if (!begun) throw new Error("nothing was begun");
    return begun;
  }

  const addMessage = (transaction: Queryable): Promise<unknown[]> => {
    const text = `
      with held as (update conversations set message_count = message_count + 1 where id = $1 returning id)
      insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
      select gen_random_uuid(), id, 'user', 'in the meantime', true, 3, now() from held`;
    return transaction.query({ text, values: [conversation.conversationId] });
  };

  const countIn = (database: Database) =>
    database.transaction((transaction) => makeSummaryStore(database).lockAndCount(transaction, conversation, 1_000));

  test("lockAndCount sees the message that was committed while it waited for the lock", async () => {
    expect(await whileHeld(addMessage, () => countIn(other))).toEqual({ hasSummary: false, uncovered: 11 });
  });

  test("lockAndCount sees the summary that was committed while it waited for the lock", async () => {
    const place = await placeOf(one, conversation, 4);
    const saveAndHold = async (transaction: Queryable): Promise<void> => {
      const inside: Database = { ...one, query: (statement) => transaction.query(statement) };
      await addMessage(transaction);
      expect(await makeSummaryStore(inside).save(conversation, sampleSummary(place, { addedMessageCount: 4 }))).toBe(true);
    };
    expect(await whileHeld(saveAndHold, () => countIn(other))).toEqual({ hasSummary: true, uncovered: 7 });
  });

  test("lockAndCount finds the conversation gone when it was deleted while it waited for the lock", async () => {
    const erase = (transaction: Queryable): Promise<unknown> =>
      transaction.query({ text: "delete from conversations where id = $1", values: [conversation.conversationId] });
    expect(await whileHeld(erase, () => countIn(other))).toBeNull();
  });

  test("no turn ends between lockAndCount and the end of its transaction", async () => {
    const turns = makeTurnStore(other);
    const turn = await beginFreely(turns, sampleTurn(conversation));
    const counts: unknown[] = [];
    const lockAndCount = async (transaction: Queryable): Promise<unknown> =>
      counts.push(await makeSummaryStore(one).lockAndCount(transaction, conversation, 1_000));
    expect(await whileHeld(lockAndCount, () => turns.finish(turn, sampleAnswer()))).toBe("stored");
    expect(counts).toEqual([{ hasSummary: false, uncovered: 11 }]);
    expect(await countIn(one)).toEqual({ hasSummary: false, uncovered: 12 });
  });

  test("of two saves of the same version the one that waited for the other writes nothing", async () => {
    const [earlier, later] = await Promise.all([4, 6].map((number) => placeOf(one, conversation, number)));
    if (!earlier || !later) throw new Error("two places are needed");
    const saveIn =
      (where: Queryable, place: typeof earlier, addedMessageCount: number) =>
      (readVersion: number): Promise<boolean> => {
        const database: Database = { ...other, query: (statement) => where.query(statement) };
        return makeSummaryStore(database).save(conversation, sampleSummary(place, { readVersion, addedMessageCount }));
      };
    const race = (readVersion: number, [first, second]: [typeof earlier, typeof later]): Promise<boolean> =>
      whileHeld(
        async (transaction) => expect(await saveIn(transaction, first, 4)(readVersion)).toBe(true),
        () => saveIn(other, second, 6)(readVersion),
      );
    expect(await race(0, [earlier, later])).toBe(false);
    expect(await makeSummaryStore(one).find(conversation)).toMatchObject({ version: 1, coveredThrough: earlier, coveredMessageCount: 4 });
    const last = await placeOf(one, conversation, 8);
    expect(await race(1, [later, last])).toBe(false);
    expect(await makeSummaryStore(one).find(conversation)).toMatchObject({ version: 2, coveredThrough: later, coveredMessageCount: 8 });
  });

  test.each([0, 1])("a save of version %i + 1 that waited for a delete of the conversation writes nothing", async (readVersion) => {
    if (readVersion === 1) await summariseThrough(one, conversation, 2);
    const coveredThrough = await placeOf(one, conversation, 4);
    const erase = (transaction: Queryable): Promise<unknown> =>
      transaction.query({ text: "delete from conversations where id = $1", values: [conversation.conversationId] });
    const save = (): Promise<boolean> => makeSummaryStore(other).save(conversation, sampleSummary(coveredThrough, { readVersion }));
    expect(await whileHeld(erase, save)).toBe(false);
    const text = "select 1 from conversation_summaries where conversation_id = $1";
    expect(await one.query({ text, values: [conversation.conversationId] })).toEqual([]);
  });
});
