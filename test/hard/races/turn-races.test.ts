import { beforeAll, describe, expect, test } from "@jest/globals";
import type { StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import type { HeldTurn } from "../../../stores/postgres/turns/recover-turn.ts";
import type { Stores } from "../../support/databases/describe-stores.ts";
import {
  beginFreely,
  completeTurn,
  EXPIRED_LEASE_MS,
  LONG_LEASE_MS,
  sampleAnswer,
  sampleTurn,
} from "../../support/samples/sample-turns.ts";
import { useRacingDatabases } from "./racing-databases.ts";

const WRITERS_PER_DATABASE = 8;
const TURNS_PER_WRITER = 20;
const PAGE_LIMIT = 7;

describe("after it waited for another process' transaction on real Postgres,", () => {
  const databases = useRacingDatabases();
  let stores: Stores;
  beforeAll(() => void (stores = databases.other));

  test("finish sees that another turn has just taken the conversation, and leaves that turn its lease", async () => {
    const late = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [next, outcome] = await databases.meet(
      (inside) => beginFreely(inside.turns, sampleTurn({ sessionId: late.sessionId })),
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
      (inside) => beginFreely(inside.turns, sampleTurn({ sessionId: late.sessionId })),
      () => stores.turns.renew(late, LONG_LEASE_MS),
    );
    expect(renewed).toBe(false);
  });

  test("begin sees that the lease has just been renewed", async () => {
    const held = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [renewed, begun] = await databases.meet(
      (inside) => inside.turns.renew(held, LONG_LEASE_MS),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(renewed).toBe(true);
    expect(begun).toBeNull();
  });

  test("begin gets the conversation that has just been freed, and comes behind its answer", async () => {
    const held = await beginFreely(stores.turns, sampleTurn());
    const answer = sampleAnswer();
    const [outcome, begun] = await databases.meet(
      (inside) => inside.turns.finish(held, answer),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(outcome).toBe("stored");
    const items = await stores.messagesOf(held);
    expect(items.map(({ id }) => id)).toEqual([held.messageId, answer.messageId, begun?.messageId]);
  });

  test("begin makes a new conversation when the old one has just been deleted", async () => {
    const held = await beginFreely(stores.turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    const [, begun] = await databases.meet(
      (inside) => inside.erases.conversation(held),
      () => stores.turns.begin(sampleTurn({ sessionId: held.sessionId })),
    );
    expect(begun?.conversationId).not.toBe(held.conversationId);
    expect(await stores.conversations.find(held, begun?.conversationId ?? "")).toMatchObject({ messageCount: 1 });
  });
});

describe("two processes that write the same conversation on real Postgres", () => {
  const databases = useRacingDatabases();

  /** Writes question and answer as fast as it can; its leases have run out at once, so that all writers get through side by side. */
  async function write(stores: Stores, sessionId: string): Promise<void> {
    for (let count = 0; count < TURNS_PER_WRITER; count++)
      await completeTurn(stores.turns, sampleTurn({ sessionId, leaseMs: EXPIRED_LEASE_MS }));
  }

  /** Pages with a cursor at the end of what is there, again and again, until nothing new comes after `isOver`. */
  async function follow({ messages }: Stores, conversation: HeldTurn, isOver: () => boolean): Promise<StoredMessage[]> {
    const seen: StoredMessage[] = [];
    for (;;) {
      const last = isOver();
      const { items } = await messages.list(conversation, { limit: PAGE_LIMIT, after: seen.at(-1) ?? null });
      seen.push(...items);
      if (last && items.length === 0) return seen;
    }
  }

  test("store messages whose created_at only rises, count each one, and show all to a reader who pages meanwhile", async () => {
    const { one, other } = databases;
    const { sessionId } = sampleTurn();
    const conversation = await completeTurn(one.turns, sampleTurn({ sessionId, leaseMs: EXPIRED_LEASE_MS }));

    let over = false;
    const readers = [one, other].map((stores) => follow(stores, conversation, () => over));
    await Promise.all([one, other].flatMap((stores) => Array.from({ length: WRITERS_PER_DATABASE }, () => write(stores, sessionId))));
    over = true;
    const seen = await Promise.all(readers);

    const total = 2 + 2 * WRITERS_PER_DATABASE * TURNS_PER_WRITER * 2;
    const { items: stored } = await one.messages.list(conversation, { limit: total + 1, after: null });
    expect(stored).toHaveLength(total);
    const times = stored.map(({ createdAt }) => createdAt.getTime());
    expect(times.every((time, index) => index === 0 || time > (times[index - 1] ?? Infinity))).toBe(true);
    for (const read of seen) expect(read.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    expect((await one.conversations.find(conversation, conversation.conversationId))?.messageCount).toBe(total);
  });

  test("let many turns in one at a time and lose none", async () => {
    const { sessionId } = sampleTurn();
    const { one, other } = databases;
    let running = 0;
    async function takeTurn({ turns }: Stores): Promise<HeldTurn> {
      const turn = sampleTurn({ sessionId });
      for (;;) {
        const begun = await turns.begin(turn);
        if (!begun) continue;
        expect(++running).toBe(1);
        const held = { ...turn, ...begun };
        running--; // before the answer is stored: the next one may be let in before we hear of it
        expect(await turns.finish(held, null)).toBe("stored");
        return held;
      }
    }
    const held = await Promise.all(Array.from({ length: 12 }, (_, index) => takeTurn(index % 2 === 0 ? one : other)));
    const [first] = held as [HeldTurn];
    expect((await one.conversations.find(first, first.conversationId))?.messageCount).toBe(12);
  });
});
