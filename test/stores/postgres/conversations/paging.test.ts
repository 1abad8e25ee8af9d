import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { decodeCursor, type Cursor, type Page, type PageRequest } from "../../../../stores/page.ts";
import { makeConversationStore } from "../../../../stores/postgres/conversations/conversation-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeMessageStore } from "../../../../stores/postgres/conversations/message-store.ts";
import { openTestEmbedded } from "../../../support/databases/databases.ts";

/** Follows `next` from the first page to the last. */
async function readAllPages<Item>(limit: number, list: (page: PageRequest) => Promise<Page<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  let after: Cursor | null = null;
  for (;;) {
    const page: Page<Item> = await list({ limit, after });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    if (page.next === null) return items;
    expect(page.items).toHaveLength(limit);
    after = decodeCursor(page.next);
  }
}

/** Ids of rows in the order of `(createdAt, id)`. */
function idsInOrder(rows: Cursor[]): string[] {
  const byPair = (one: Cursor, other: Cursor): number =>
    one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);
  return rows.toSorted(byPair).map(({ id }) => id);
}

/** Rows with random ids (not rising) in a few milliseconds, so that many share their time. */
const someRows = fc.array(
  fc.record({ createdAt: fc.nat({ max: 4 }).map((offset) => new Date(Date.UTC(2024, 0, 31) + offset)), id: fc.uuid({ version: 4 }) }),
  { maxLength: 25 },
);
const someLimit = fc.integer({ min: 1, max: 27 });

describe("paging", () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestEmbedded();
    // The indexes happen to hold the rows in the wanted order; without them only the statements' own order counts.
    for (const kind of ["indexscan", "indexonlyscan", "bitmapscan"]) await database.query({ text: `set enable_${kind} = off` });
  });
  afterAll(() => database.close());

  async function insertConversations(owner: { tenantId: string; userId: string }, rows: Cursor[]): Promise<void> {
    const text = `
      insert into conversations (id, tenant_id, user_id, session_id, last_message_at, created_at, updated_at)
      select id, $1, $2, id::text, at, at, at from unnest($3::uuid[], $4::timestamptz[]) as given (id, at)`;
    await database.query({
      text,
      values: [owner.tenantId, owner.userId, rows.map(({ id }) => id), rows.map(({ createdAt }) => createdAt.toISOString())],
    });
  }

  test("property: gives every message exactly once, oldest first, whatever the limit and however many share a time", async () => {
    await fc.assert(
      fc.asyncProperty(someRows, someLimit, async (rows, limit) => {
        const conversation = { tenantId: "tenant", userId: uuidv7(), conversationId: uuidv7() };
        await insertConversations(conversation, [{ createdAt: new Date(), id: conversation.conversationId }]);
        const text = `
          insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
          select id, $1, 'user', 'text', true, 1, at from unnest($2::uuid[], $3::timestamptz[]) as given (id, at)`;
        const times = rows.map(({ createdAt }) => createdAt.toISOString());
        await database.query({ text, values: [conversation.conversationId, rows.map(({ id }) => id), times] });
        const items = await readAllPages(limit, (page) => makeMessageStore(database).list(conversation, page));
        expect(items.map(({ id }) => id)).toEqual(idsInOrder(rows));
        await database.query({ text: "delete from messages" });
      }),
      { numRuns: 40 },
    );
  });

  test("property: gives every conversation exactly once, newest first, whatever the limit and however many share a time", async () => {
    await fc.assert(
      fc.asyncProperty(someRows, someLimit, async (rows, limit) => {
        const owner = { tenantId: "tenant", userId: uuidv7() };
        await insertConversations(owner, rows);
        const items = await readAllPages(limit, (page) => makeConversationStore(database).list(owner, page));
        expect(items.map(({ id }) => id)).toEqual(idsInOrder(rows).toReversed());
        await database.query({ text: "delete from conversations" });
      }),
      { numRuns: 40 },
    );
  });

  test("behind the earliest and the latest time that a cursor can have works like any other", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7() };
    const row = { createdAt: new Date(), id: uuidv7() };
    await insertConversations(owner, [row]);
    const list = (time: string) =>
      makeConversationStore(database).list(owner, { limit: 5, after: { createdAt: new Date(time), id: uuidv7() } });
    expect((await list("9999-12-31T23:59:59.999Z")).items.map(({ id }) => id)).toEqual([row.id]);
    expect((await list("0000-01-01T00:00:00.000Z")).items).toEqual([]);
  });
});
