import { describe, expect, test } from "@jest/globals";
import { makeConversationStore } from "../../../stores/postgres/conversations/conversation-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeMessageStore, type StoredMessage } from "../../../stores/postgres/conversations/conversation-store.ts";
import { makeTurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { useRacingDatabases } from "./racing-databases.ts";
import { completeTurn, EXPIRED_LEASE_MS, sampleTurn } from "../../support/samples/sample-turns.ts";
import type { HeldTurn } from "../../../stores/postgres/conversations/recover-turn.ts";

const WRITERS_PER_DATABASE = 8;
const TURNS_PER_WRITER = 20;
const PAGE_LIMIT = 7;

describe("two processes that write the same conversation on real Postgres", () => {
  const databases = useRacingDatabases();

  /** Writes question and answer as fast as it can; its leases have run out at once, so that all writers get through side by side. */
  async function write(database: Database, sessionId: string): Promise<void> {
    const turns = makeTurnStore(database);
    for (let count = 0; count < TURNS_PER_WRITER; count++) await completeTurn(turns, sampleTurn({ sessionId, leaseMs: EXPIRED_LEASE_MS }));
  }

  /** Pages with a cursor at the end of what is there, again and again, until nothing new comes after `isOver`. */
  async function follow(database: Database, conversation: HeldTurn, isOver: () => boolean): Promise<StoredMessage[]> {
    const store = makeMessageStore(database);
    const seen: StoredMessage[] = [];
    for (;;) {
      const last = isOver();
      const { items } = await store.list(conversation, { limit: PAGE_LIMIT, after: seen.at(-1) ?? null });
      seen.push(...items);
      if (last && items.length === 0) return seen;
    }
  }

  test("created_at only rises, every message counts, and a reader who pages meanwhile misses none", async () => {
    const { one, other } = databases;
    const { sessionId } = sampleTurn();
    const conversation = await completeTurn(makeTurnStore(one), sampleTurn({ sessionId, leaseMs: EXPIRED_LEASE_MS }));

    let over = false;
    const readers = [one, other].map((database) => follow(database, conversation, () => over));
    await Promise.all([one, other].flatMap((database) => Array.from({ length: WRITERS_PER_DATABASE }, () => write(database, sessionId))));
    over = true;
    const seen = await Promise.all(readers);

    const total = 2 + 2 * WRITERS_PER_DATABASE * TURNS_PER_WRITER * 2;
    const { items: stored } = await makeMessageStore(one).list(conversation, { limit: total + 1, after: null });
    expect(stored).toHaveLength(total);
    const times = stored.map(({ createdAt }) => createdAt.getTime());
    expect(times.every((time, index) => index === 0 || time > (times[index - 1] ?? Infinity))).toBe(true);
    for (const messages of seen) expect(messages.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
    const found = await makeConversationStore(one).find(conversation, conversation.conversationId);
    expect(found?.messageCount).toBe(total);
  });

  test("one turn at a time: of many that want in, each gets in alone and none is lost", async () => {
    const { sessionId } = sampleTurn();
    const { one, other } = databases;
    let running = 0;
    async function takeTurn(database: Database): Promise<HeldTurn> {
      const turns = makeTurnStore(database);
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
    const found = await makeConversationStore(one).find(first, first.conversationId);
    expect(found?.messageCount).toBe(12);
  });
});
