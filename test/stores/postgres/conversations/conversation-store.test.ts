import { beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { decodeCursor, type Cursor, type Page, type PageRequest } from "../../../../stores/page.ts";
import { useTestEmbedded } from "../../../support/databases/databases.ts";
import { describeStores, storesOf } from "../../../support/databases/describe-stores.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

/** Names that a pattern, a fold of case, a normalisation or a trim would take for one another. */
const LOOK_ALIKES = ["a", "aa", "A", "a%", "a_", "%", "*", "a ", " a", "a:a", "а", "ａ", "á", "a\u0301", "a\u200B", "a'--"];
const ALL = { limit: 50, after: null };
const EMPTY = { items: [], next: null };

describeStores("the stores of conversations and messages", ({ conversations, messages, erases, begin, complete }) => {
  test("find a conversation with its count and times, for its tenant and its user", async () => {
    const { tenantId, userId, sessionId, conversationId } = await complete({ userId: "ada" });
    const found = await conversations.find({ tenantId, userId: null }, conversationId);
    const times = { createdAt: expect.any(Date), updatedAt: expect.any(Date) };
    expect(found).toEqual({ id: conversationId, userId, sessionId, messageCount: 2, ...times });
    expect(Math.abs(Date.now() - (found?.createdAt.getTime() ?? 0))).toBeLessThan(60_000);
    expect(found?.updatedAt.getTime()).toBeGreaterThanOrEqual(found?.createdAt.getTime() ?? Infinity);
    expect(await conversations.find({ tenantId, userId }, conversationId)).toEqual(found);
    expect(await conversations.find({ tenantId: "other", userId: null }, conversationId)).toBeNull();
    expect(await conversations.find({ tenantId, userId: null }, uuidv7())).toBeNull();
    for (const other of ["", "ad", "Ada", "ada ", "%", "a_a", "\u0430da"])
      expect(await conversations.find({ tenantId, userId: other }, conversationId)).toBeNull();
  });

  test("find a message and its owner, for its tenant", async () => {
    const { messageId, conversationId, userId, tenantId } = await complete();
    const found = await messages.find({ tenantId, userId: null }, messageId);
    expect(found).toMatchObject({ userId, conversationId, message: { id: messageId, role: "user", content: "a question" } });
    expect(await messages.find({ tenantId: "other", userId: null }, messageId)).toBeNull();
    expect(await messages.find({ tenantId, userId: null }, uuidv7())).toBeNull();
  });

  test("list the newest created conversation first, also while turns go on; none of an unknown user", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7() };
    for (const sessionId of ["first", "second", "third", "first"]) await complete({ ...owner, sessionId });
    const { items } = await conversations.list(owner, ALL);
    expect(items.map(({ sessionId, messageCount, firstMessage }) => [sessionId, messageCount, firstMessage])).toEqual([
      ["third", 2, "a question"],
      ["second", 2, "a question"],
      ["first", 4, "a question"],
    ]);
    expect(await conversations.list({ ...owner, userId: uuidv7() }, ALL)).toEqual(EMPTY);
  });

  test("list incomplete messages too, none for others, and behind a cursor those that came later", async () => {
    const cut = sampleAnswer({ content: "half an ans", completed: false, metadata: { note: ["cut", 1] } });
    const conversation = await complete({}, cut);
    const { items } = await messages.list(conversation, ALL);
    expect(items[1]).toMatchObject({ id: cut.messageId, completed: false, metadata: { note: ["cut", 1] } });
    for (const fields of [{ tenantId: "other" }, { userId: "other" }, { conversationId: uuidv7() }]) {
      for (const order of ["oldest_first", "newest_first"] as const)
        expect(await messages.list({ ...conversation, ...fields }, ALL, order)).toEqual(EMPTY);
    }
    const behind = { limit: 50, after: items[1] ?? null };
    expect(await messages.list(conversation, behind)).toEqual(EMPTY);
    const later = await begin({ sessionId: conversation.sessionId });
    expect((await messages.list(conversation, behind)).items.map(({ id }) => id)).toEqual([later.messageId]);
  });

  test("keep tenants, users and sessions with look-alike names apart", async () => {
    const created = [];
    for (const name of LOOK_ALIKES) {
      for (const fields of [
        { tenantId: name, userId: "same", sessionId: "same" },
        { tenantId: "same", userId: name, sessionId: "same" },
        { tenantId: "look-alikes", userId: "same", sessionId: name },
      ]) {
        created.push(await complete(fields));
      }
    }
    expect(new Set(created.map(({ conversationId }) => conversationId)).size).toBe(created.length);
    const [erased, ...others] = created;
    if (!erased) throw new Error("nothing was created");
    expect(await erases.conversation(erased)).toMatchObject({ erased: { messages: 2, summaries: 0, jobs: 0 } });
    for (const { userId, sessionId, ...conversation } of others) {
      const found = await conversations.find({ ...conversation, userId }, conversation.conversationId);
      expect(found).toMatchObject({ userId, sessionId, messageCount: 2 });
    }
    for (const name of LOOK_ALIKES) {
      const ofTenant = await conversations.list({ tenantId: name, userId: "same" }, ALL);
      const ofUser = await conversations.list({ tenantId: "same", userId: name }, ALL);
      expect([ofTenant.items.length, ofUser.items.length]).toEqual([name === "a" ? 0 : 1, 1]);
    }
  });
});

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
  const byPair = (one: Cursor, other: Cursor) => one.createdAt.getTime() - other.createdAt.getTime() || (one.id < other.id ? -1 : 1);
  return rows.toSorted(byPair).map(({ id }) => id);
}

/** Rows with random ids (not rising) in a few milliseconds, so that many share their time. */
const someRows = fc.array(
  fc.record({ createdAt: fc.nat({ max: 4 }).map((offset) => new Date(Date.UTC(2024, 0, 31) + offset)), id: fc.uuid({ version: 4 }) }),
  { maxLength: 25 },
);
const someLimit = fc.integer({ min: 1, max: 27 });

describe("paging", () => {
  const database = useTestEmbedded();
  const stores = storesOf(database);
  beforeAll(async () => {
    // The indexes happen to hold the rows in the wanted order; without them only the statements' own order counts.
    for (const kind of ["indexscan", "indexonlyscan", "bitmapscan"]) await database.query({ text: `set enable_${kind} = off` });
  });

  async function insert(rows: Cursor[], into: "conversations" | "messages", values: string[]): Promise<void> {
    const text =
      into === "messages"
        ? `insert into messages (id, conversation_id, role, content, completed, token_count, created_at) select id, $3, 'user', 'text', true, 1, at`
        : `insert into conversations (id, tenant_id, user_id, session_id, last_message_at, created_at, updated_at) select id, $3, $4, id::text, at, at, at`;
    const places = [rows.map(({ id }) => id), rows.map(({ createdAt }) => createdAt.toISOString())];
    await database.query({ text: `${text} from unnest($1::uuid[], $2::timestamptz[]) as given (id, at)`, values: [...places, ...values] });
  }

  test("property: gives every message exactly once, in either order, whatever the limit and however many share a time", async () => {
    await fc.assert(
      fc.asyncProperty(someRows, someLimit, fc.boolean(), async (rows, limit, isNewestFirst) => {
        const conversation = { tenantId: "tenant", userId: uuidv7(), conversationId: uuidv7() };
        const { tenantId, userId, conversationId } = conversation;
        await insert([{ createdAt: new Date(), id: conversationId }], "conversations", [tenantId, userId]);
        await insert(rows, "messages", [conversationId]);
        const order = isNewestFirst ? "newest_first" : "oldest_first";
        const items = await readAllPages(limit, (page) => stores.messages.list(conversation, page, order));
        expect(items.map(({ id }) => id)).toEqual(isNewestFirst ? idsInOrder(rows).toReversed() : idsInOrder(rows));
        await database.query({ text: "delete from messages" });
      }),
      { numRuns: 60 },
    );
  });

  test("property: gives every conversation exactly once, newest first, whatever the limit and however many share a time", async () => {
    await fc.assert(
      fc.asyncProperty(someRows, someLimit, async (rows, limit) => {
        const owner = { tenantId: "tenant", userId: uuidv7() };
        await insert(rows, "conversations", [owner.tenantId, owner.userId]);
        const items = await readAllPages(limit, (page) => stores.conversations.list(owner, page));
        expect(items.map(({ id }) => id)).toEqual(idsInOrder(rows).toReversed());
        await database.query({ text: "delete from conversations" });
      }),
      { numRuns: 40 },
    );
  });

  test("works at the earliest and the latest time that a cursor can have", async () => {
    const owner = { tenantId: "tenant", userId: uuidv7() };
    await insert([{ createdAt: new Date(), id: uuidv7() }], "conversations", [owner.tenantId, owner.userId]);
    const countBehind = async (time: string) =>
      (await stores.conversations.list(owner, { limit: 5, after: { createdAt: new Date(time), id: uuidv7() } })).items.length;
    expect([await countBehind("9999-12-31T23:59:59.999Z"), await countBehind("0000-01-01T00:00:00.000Z")]).toEqual([1, 0]);
  });
});
