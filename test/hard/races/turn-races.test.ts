import { beforeAll, describe, expect, test } from "@jest/globals";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { storesOf } from "../../support/databases/describe-stores.ts";
import { beginFreely, EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { useRacingDatabases } from "./racing-databases.ts";

describe("a call that waits for another process' transaction on real Postgres", () => {
  const databases = useRacingDatabases();
  let stores: ReturnType<typeof storesOf>;
  beforeAll(() => void (stores = storesOf(databases.other)));

  test("finish sees that another turn has just taken the conversation, and leaves it its lease", async () => {
    const late = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [next, outcome] = await databases.meet(
      (inside) => beginFreely(makeTurnStore(inside), sampleTurn({ sessionId: late.sessionId })),
      () => stores.turns.finish(late, sampleAnswer()),
    );
    expect(outcome).toBe("superseded");
    expect(await stores.turns.renew(next, LONG_LEASE_MS)).toBe(true);
    const items = await stores.messagesOf(late);
    expect(items.map(({ id, completed }) => [id, completed])).toEqual([
      [late.messageId, true],
      [next.messageId, true],
      [items[2]?.id, false],
    ]);
  });

  test("renew sees that another turn has just taken the conversation", async () => {
    const late = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [, renewed] = await databases.meet(
      (inside) => beginFreely(makeTurnStore(inside), sampleTurn({ sessionId: late.sessionId })),
      () => stores.turns.renew(late, LONG_LEASE_MS),
    );
    expect(renewed).toBe(false);
  });

  test("begin sees that the lease has just been renewed", async () => {
    const held = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [renewed, begun] = await databases.meet(
      (inside) => makeTurnStore(inside).renew(held, LONG_LEASE_MS),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(renewed).toBe(true);
    expect(begun).toBeNull();
  });

  test("begin gets the conversation that has just been freed, behind its answer", async () => {
    const held = await beginFreely(stores.turns, sampleTurn());
    const answer = sampleAnswer();
    const [outcome, begun] = await databases.meet(
      (inside) => makeTurnStore(inside).finish(held, answer),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(outcome).toBe("stored");
    const items = await stores.messagesOf(held);
    expect(items.map(({ id }) => id)).toEqual([held.messageId, answer.messageId, begun?.messageId]);
  });

  test("finish writes nothing into a conversation that has just been deleted", async () => {
    const held = await beginFreely(stores.turns, sampleTurn());
    const [erased, outcome] = await databases.meet(
      (inside) => makeEraseStore(inside).conversation(held),
      () => stores.turns.finish(held, sampleAnswer()),
    );
    expect(erased).toMatchObject({ erased: { messages: 1, summaries: 0, jobs: 0 } });
    expect(outcome).toBe("gone");
    expect(await stores.messagesOf(held)).toEqual([]);
  });

  test("begin makes a new conversation when the old one has just been deleted", async () => {
    const held = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [, begun] = await databases.meet(
      (inside) => makeEraseStore(inside).conversation(held),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(begun?.conversationId).not.toBe(held.conversationId);
    expect(await stores.conversations.find(held, begun?.conversationId ?? "")).toMatchObject({ messageCount: 1 });
  });

  test("erase takes an answer along that has just been stored", async () => {
    const held = await beginFreely(stores.turns, sampleTurn());
    const [, erased] = await databases.meet(
      (inside) => makeTurnStore(inside).finish(held, sampleAnswer()),
      () => stores.erases.conversation(held),
    );
    expect(erased).not.toBeNull();
    expect(await stores.messagesOf(held)).toEqual([]);
  });
});
