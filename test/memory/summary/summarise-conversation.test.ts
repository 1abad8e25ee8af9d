import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Summarise } from "../../../memory/summary/summarise-conversation.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { addMessages, createConversation, numbered } from "./sample-conversation.ts";
import { SETTINGS, summarySteps, type SummarySteps } from "./summary-steps.ts";

const range = (from: number, to: number): string[] => numbered(to - from + 1, from).map(({ content }) => content);

describeOnBothDatabases("summarising a conversation", (open) => {
  let database: Database;
  let steps: SummarySteps;
  beforeAll(async () => {
    database = await open();
    steps = summarySteps(database);
  });
  afterAll(() => database.close());

  describe("begins", () => {
    test("when there are minMessages, and leaves out the window", async () => {
      const conversation = await createConversation(database, numbered(9));
      const { handler, given } = steps.makeRecording();
      await steps.runAll(handler, conversation);
      expect(given).toEqual([]);
      expect(await steps.summaries.find(conversation)).toBeNull();

      await addMessages(database, conversation, numbered(1, 10));
      expect(await steps.remaining(handler, conversation)).toBe("more");
      await steps.runAll(handler, conversation);
      expect(given).toEqual([{ previous: null, contents: range(1, 4) }]);
      expect(await steps.summaries.find(conversation)).toMatchObject({ text: "summary 1", version: 1, coveredMessageCount: 4 });
    });

    test.each([
      [{ historyWindow: 0 }, 10, 10],
      [{ historyWindow: 9 }, 10, 1],
      [{ historyWindow: 10 }, 10, 0],
      [{ historyWindow: 10 }, 11, 1],
      [{ historyWindow: 50 }, 30, 0],
      [{ minMessages: 1, historyWindow: 0 }, 1, 1],
    ])("with %j and %i messages by covering the first %i", async (settings, count, covered) => {
      const conversation = await createConversation(database, numbered(count));
      const { handler, given } = steps.makeRecording(settings);
      await steps.runAll(handler, conversation);
      expect(given.flatMap(({ contents }) => contents)).toEqual(range(1, covered));
    });

    test("gives the summariser who said what", async () => {
      const conversation = await createConversation(database, numbered(10));
      const roles: string[] = [];
      const summarise: Summarise = async ({ messages }) => {
        roles.push(...messages.map(({ role }) => role));
        return "summary";
      };
      await steps.runAll(steps.makeHandler(summarise), conversation);
      expect(roles).toEqual(["user", "assistant", "user", "assistant"]);
    });
  });

  describe("goes on", () => {
    test("when updateDelta messages lie before the window, with the summary before and only the messages since", async () => {
      const conversation = await createConversation(database, numbered(10));
      const { handler, given } = steps.makeRecording();
      await steps.runAll(handler, conversation);
      await addMessages(database, conversation, numbered(4, 11));
      expect(await steps.remaining(handler, conversation)).toBe("nothing");
      await steps.runAll(handler, conversation);
      expect(given).toHaveLength(1);

      await addMessages(database, conversation, numbered(1, 15));
      expect(await steps.remaining(handler, conversation)).toBe("more");
      await steps.runAll(handler, conversation);
      expect(given.slice(1)).toEqual([{ previous: "summary 1", contents: range(5, 9) }]);
      expect(await steps.summaries.find(conversation)).toMatchObject({ text: "summary 2", version: 2, coveredMessageCount: 9 });
    });

    test("with a window that has been made larger only when enough lies before it", async () => {
      const conversation = await createConversation(database, numbered(20));
      await steps.runAll(steps.makeRecording().handler, conversation);
      const { handler, given } = steps.makeRecording({ historyWindow: 14 });
      await steps.runAll(handler, conversation);
      await addMessages(database, conversation, numbered(12, 21));
      await steps.runAll(handler, conversation);
      expect(given).toEqual([]);
      await addMessages(database, conversation, numbered(1, 33));
      await steps.runAll(handler, conversation);
      expect(given).toEqual([{ previous: "summary 1", contents: range(15, 19) }]);
    });

    test("through a backlog of a thousand in steps of at most 200 messages, each message once and in order", async () => {
      const conversation = await createConversation(database, numbered(1_000));
      const { handler, given } = steps.makeRecording();
      await steps.runAll(handler, conversation);
      expect(given.flatMap(({ contents }) => contents)).toEqual(range(1, 994));
      expect(given.map(({ contents }) => contents.length)).toEqual([200, 200, 200, 200, 194]);
      expect(given.map(({ previous }) => previous)).toEqual([null, "summary 1", "summary 2", "summary 3", "summary 4"]);
      expect(await steps.summaries.find(conversation)).toMatchObject({ version: 5, coveredMessageCount: 994 });
    });

    test("in steps of at most stepTokens, of which a single longer message is one", async () => {
      const messages = numbered(40).map((message, index) => ({ ...message, tokenCount: index === 7 ? 5_000 : 10 }));
      const conversation = await createConversation(database, messages);
      const { handler, given } = steps.makeRecording({}, 100);
      await steps.runAll(handler, conversation);
      expect(given.map(({ contents }) => contents.length)).toEqual([7, 1, 10, 10, 6]);
      expect(given.flatMap(({ contents }) => contents)).toEqual(range(1, 34));
    });

    test.each([{ minMessages: 500 }, { updateDelta: 500, minMessages: 1 }])("when %j says so, more than a step takes", async (settings) => {
      const conversation = await createConversation(database, numbered(900));
      const { handler, given } = steps.makeRecording(settings);
      await steps.runAll(handler, conversation);
      const covered = given.flatMap(({ contents }) => contents);
      expect(covered).toEqual(range(1, covered.length));
      expect(covered).toHaveLength("updateDelta" in settings ? 400 : 894);
      for (const { contents } of given) expect(contents.length).toBeLessThanOrEqual(200);
    });
  });

  test("leaves incomplete messages out, and does not count them", async () => {
    const nine = numbered(9).flatMap((message, index) => [message, { content: `broken off ${index}`, completed: false }]);
    const conversation = await createConversation(database, nine);
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    expect(given).toEqual([]);
    await addMessages(database, conversation, numbered(1, 10));
    await steps.runAll(handler, conversation);
    expect(given).toEqual([{ previous: null, contents: range(1, 4) }]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ coveredMessageCount: 4 });
  });

  describe("when two are at it at once", () => {
    test("the slower one writes nothing, and goes on from where the other came to", async () => {
      const conversation = await createConversation(database, numbered(30));
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
      expect(fast.given.flatMap(({ contents }) => contents)).toEqual(range(1, 24));
    });

    test("each message is counted once, however many there are", async () => {
      const conversation = await createConversation(database, numbered(200));
      await Promise.all(Array.from({ length: 4 }, () => steps.runAll(steps.makeRecording({}, 200).handler, conversation)));
      const { coveredThrough, ...summary } = (await steps.summaries.find(conversation)) ?? {};
      const [counted] = await database.query<{ count: number }>({
        text: "select count(*)::int as count from messages where conversation_id = $1 and (created_at, id) <= ($2::timestamptz, $3::uuid)",
        values: [conversation.conversationId, coveredThrough?.createdAt ?? null, coveredThrough?.id ?? null],
      });
      expect(summary).toMatchObject({ coveredMessageCount: counted?.count });
      expect(200 - (counted?.count ?? 0)).toBeLessThan(SETTINGS.historyWindow + SETTINGS.updateDelta);
    });
  });
});
