import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import { makeEraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import type { Database, Queryable } from "../../../../stores/postgres/database/database.ts";
import { makeMessageStore } from "../../../../stores/postgres/conversations/message-store.ts";
import { openPostgres } from "../../../../stores/postgres/database/open-postgres.ts";
import { makeTurnStore, type TurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { createRealDatabase } from "../../../support/databases/databases.ts";
import { beginFreely, EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { waitUntil } from "../../../support/wait-until.ts";

describe("a call that waits for another process' transaction on real Postgres", () => {
  let database: Database;
  let turns: TurnStore;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    const { url, ...created } = await createRealDatabase();
    database = await openPostgres(url);
    turns = makeTurnStore(database);
    drop = created.drop;
  });
  afterAll(async () => {
    await database.close();
    await drop();
  });

  /** Starts `late` while the transaction of `early` is open, commits that one once `late` waits for it, and gives what came of both. */
  async function meet<Early, Late>(early: (stores: Database) => Promise<Early>, late: () => Promise<Late>): Promise<[Early, Late]> {
    const inside = (transaction: Queryable): Database => ({
      ...database,
      query: (statement) => transaction.query(statement),
      transaction: (work) => work(transaction),
    });
    let waiting: Promise<Late> | undefined;
    const first = await database.transaction(async (transaction) => {
      const result = await early(inside(transaction));
      waiting = late();
      await waitUntil("a statement that waits for a lock", async () => {
        const text = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        return (await database.query({ text })).length > 0;
      });
      return result;
    });
    return [first, await (waiting as Promise<Late>)];
  }

  test("finish sees that another turn has just taken the conversation, and leaves it its lease", async () => {
    const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [next, outcome] = await meet(
      (stores) => beginFreely(makeTurnStore(stores), sampleTurn({ sessionId: late.sessionId })),
      () => turns.finish(late, sampleAnswer()),
    );
    expect(outcome).toBe("superseded");
    expect(await turns.renew(next, LONG_LEASE_MS)).toBe(true);
    const { items } = await makeMessageStore(database).list(late, { limit: 10, after: null });
    expect(items.map(({ id, completed }) => [id, completed])).toEqual([
      [late.messageId, true],
      [next.messageId, true],
      [items[2]?.id, false],
    ]);
  });

  test("renew sees that another turn has just taken the conversation", async () => {
    const late = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [, renewed] = await meet(
      (stores) => beginFreely(makeTurnStore(stores), sampleTurn({ sessionId: late.sessionId })),
      () => turns.renew(late, LONG_LEASE_MS),
    );
    expect(renewed).toBe(false);
  });

  test("begin sees that the lease has just been renewed", async () => {
    const held = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [renewed, begun] = await meet(
      (stores) => makeTurnStore(stores).renew(held, LONG_LEASE_MS),
      () => turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(renewed).toBe(true);
    expect(begun).toBeNull();
  });

  test("begin gets the conversation that has just been freed, behind its answer", async () => {
    const held = await beginFreely(turns, sampleTurn());
    const answer = sampleAnswer();
    const [outcome, begun] = await meet(
      (stores) => makeTurnStore(stores).finish(held, answer),
      () => turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(outcome).toBe("stored");
    const { items } = await makeMessageStore(database).list(held, { limit: 10, after: null });
    expect(items.map(({ id }) => id)).toEqual([held.messageId, answer.messageId, begun?.messageId]);
  });

  test("finish writes nothing into a conversation that has just been deleted", async () => {
    const held = await beginFreely(turns, sampleTurn());
    const [erased, outcome] = await meet(
      (stores) => makeEraseStore(stores).conversation(held),
      () => turns.finish(held, sampleAnswer()),
    );
    expect(erased).toMatchObject({ erased: { messages: 1, summaries: 0, jobs: 0 } });
    expect(outcome).toBe("gone");
    const left = await database.query({ text: "select 1 from messages where conversation_id = $1", values: [held.conversationId] });
    expect(left).toEqual([]);
  });

  test("begin makes a new conversation when the old one has just been deleted", async () => {
    const held = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [, begun] = await meet(
      (stores) => makeEraseStore(stores).conversation(held),
      () => turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(begun?.conversationId).not.toBe(held.conversationId);
    expect(await makeConversationStore(database).find(held, begun?.conversationId ?? "")).toMatchObject({ messageCount: 1 });
  });

  test("erase takes an answer along that has just been stored", async () => {
    const held = await beginFreely(turns, sampleTurn());
    const [, erased] = await meet(
      (stores) => makeTurnStore(stores).finish(held, sampleAnswer()),
      () => makeEraseStore(database).conversation(held),
    );
    expect(erased).not.toBeNull();
    const left = await database.query({ text: "select 1 from messages where conversation_id = $1", values: [held.conversationId] });
    expect(left).toEqual([]);
  });
});
