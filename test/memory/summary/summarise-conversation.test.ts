import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Summarise, DEFAULT_SUMMARY } from "../../../memory/summary/summarise-conversation.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { messagesFromTo, storeConversation } from "../../support/databases/stored-conversation.ts";
import { addMessages, summarySteps, type SummarySteps } from "./summary-steps.ts";

describeOnBothDatabases("summarising a conversation", (open) => {
  let database: Database;
  let steps: SummarySteps;
  beforeAll(async () => {
    database = await open();
    steps = summarySteps(database);
  });
  afterAll(() => database.close());

  const store = (count: number, incomplete: number[] = []) => storeConversation(database, { count, incomplete, tokenCount: 10 });

  test("begins when there are minMessages, and leaves out the window", async () => {
    const conversation = await store(9);
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    expect(given).toEqual([]);
    expect(await steps.summaries.find(conversation)).toBeNull();

    await addMessages(database, conversation, 1);
    expect(await steps.remaining(handler, conversation)).toBe("more");
    await steps.runAll(handler, conversation);
    expect(given).toEqual([{ previous: null, contents: messagesFromTo(1, 4) }]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ text: "summary 1", version: 1, coveredMessageCount: 4 });
  });

  test.each([
    [{ historyWindow: 0 }, 10, 10],
    [{ historyWindow: 9 }, 10, 1],
    [{ historyWindow: 10 }, 10, 0],
    [{ historyWindow: 50 }, 30, 0],
    [{ minMessages: 1, historyWindow: 0 }, 1, 1],
  ])("begins with %j and %i messages by covering the first %i", async (settings, count, covered) => {
    const conversation = await store(count);
    const { handler, given } = steps.makeRecording(settings);
    await steps.runAll(handler, conversation);
    expect(given.flatMap(({ contents }) => contents)).toEqual(messagesFromTo(1, covered));
  });

  test("gives the summariser who said what", async () => {
    const conversation = await store(10);
    const roles: string[] = [];
    const summarise: Summarise = async ({ messages }) => {
      roles.push(...messages.map(({ role }) => role));
      return "summary";
    };
    await steps.runAll(steps.makeHandler(summarise), conversation);
    expect(roles).toEqual(["user", "assistant", "user", "assistant"]);
  });

  test("goes on when updateDelta messages lie before the window, with the summary before and only the messages since", async () => {
    const conversation = await store(10);
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    await addMessages(database, conversation, 4);
    expect(await steps.remaining(handler, conversation)).toBe("nothing");
    await steps.runAll(handler, conversation);
    expect(given).toHaveLength(1);

    await addMessages(database, conversation, 1);
    await steps.runAll(handler, conversation);
    expect(given.slice(1)).toEqual([{ previous: "summary 1", contents: messagesFromTo(5, 9) }]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ text: "summary 2", version: 2, coveredMessageCount: 9 });
  });

  test("goes on with a window that has been made larger only when enough lies before it", async () => {
    const conversation = await store(20);
    await steps.runAll(steps.makeRecording().handler, conversation);
    const { handler, given } = steps.makeRecording({ historyWindow: 14 });
    await addMessages(database, conversation, 12);
    await steps.runAll(handler, conversation);
    expect(given).toEqual([]);
    await addMessages(database, conversation, 1);
    await steps.runAll(handler, conversation);
    expect(given).toEqual([{ previous: "summary 1", contents: messagesFromTo(15, 19) }]);
  });

  test("goes through a backlog in steps of at most 200 messages, each message once and in order", async () => {
    const conversation = await store(500);
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    expect(given.flatMap(({ contents }) => contents)).toEqual(messagesFromTo(1, 494));
    expect(given.map(({ contents, previous }) => `${contents.length} after ${previous}`)).toEqual([
      "200 after null",
      "200 after summary 1",
      "94 after summary 2",
    ]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ version: 3, coveredMessageCount: 494 });
  });

  test("goes in steps of at most stepTokens, of which a single longer message is one", async () => {
    const conversation = await store(40);
    const text = "update messages set token_count = 5000 where conversation_id = $1 and content = 'message 8'";
    await database.query({ text, values: [conversation.conversationId] });
    const { handler, given } = steps.makeRecording({}, 100);
    await steps.runAll(handler, conversation);
    expect(given.map(({ contents }) => contents.length)).toEqual([7, 1, 10, 10, 6]);
    expect(given.flatMap(({ contents }) => contents)).toEqual(messagesFromTo(1, 34));
  });

  test.each([
    [{ minMessages: 500 }, 894],
    [{ updateDelta: 500, minMessages: 1 }, 400],
  ])("goes on when %j says so, more than a step takes, and covers %i", async (settings, covered) => {
    const conversation = await store(900);
    const { handler, given } = steps.makeRecording(settings);
    await steps.runAll(handler, conversation);
    expect(given.flatMap(({ contents }) => contents)).toEqual(messagesFromTo(1, covered));
    for (const { contents } of given) expect(contents.length).toBeLessThanOrEqual(200);
  });

  test("leaves incomplete messages out, and does not count them", async () => {
    const conversation = await store(18, [2, 4, 6, 8, 10, 12, 14, 16, 18]);
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    expect(given).toEqual([]);
    await addMessages(database, conversation, 1);
    await steps.runAll(handler, conversation);
    expect(given).toEqual([{ previous: null, contents: ["message 1", "message 3", "message 5", "message 7"] }]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ coveredMessageCount: 4 });
  });

  describe("when two are at it at once", () => {
    test("the slower one writes nothing, and goes on from where the other came to", async () => {
      const conversation = await store(30);
      const gate = Promise.withResolvers<void>();
      const slow = steps.makeHandler(() => gate.promise.then(() => "of the slow one"), {}, 100);
      const slowStep = steps.step(slow, conversation);
      const fast = steps.makeRecording({}, 150);
      await steps.step(fast.handler, conversation);
      const after = await steps.summaries.find(conversation);
      gate.resolve();
      await slowStep;
      expect(await steps.summaries.find(conversation)).toEqual(after);
      expect(after).toMatchObject({ text: "summary 1", version: 1, coveredMessageCount: 15 });
      expect(await steps.remaining(slow, conversation)).toBe("more");
      await steps.runAll(fast.handler, conversation);
      expect(fast.given.flatMap(({ contents }) => contents)).toEqual(messagesFromTo(1, 24));
    });

    test("each message is counted once, however many there are", async () => {
      const conversation = await store(200);
      await Promise.all(Array.from({ length: 4 }, () => steps.runAll(steps.makeRecording({}, 200).handler, conversation)));
      const { coveredThrough, coveredMessageCount } = (await steps.summaries.find(conversation)) ?? {};
      const [counted] = await database.query<{ count: number }>({
        text: "select count(*)::int as count from messages where conversation_id = $1 and (created_at, id) <= ($2::timestamptz, $3::uuid)",
        values: [conversation.conversationId, coveredThrough?.createdAt ?? null, coveredThrough?.id ?? null],
      });
      expect(coveredMessageCount).toBe(counted?.count);
      expect(200 - (counted?.count ?? 0)).toBeLessThan(DEFAULT_SUMMARY.historyWindow + DEFAULT_SUMMARY.updateDelta);
    });
  });
});
