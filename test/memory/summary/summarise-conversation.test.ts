import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { AppError } from "../../../errors/app-error.ts";
import {
  DEFAULT_SUMMARY,
  isSummaryDue,
  type Summarise,
  type SummarySettings,
  uncoveredCountLimit,
} from "../../../memory/summary/summarise-conversation.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";
import { messagesFromTo, storeConversation } from "../../support/databases/stored-conversation.ts";
import { addMessages, summarySteps } from "./summary-steps.ts";

describeStores("summarising a conversation", ({ database, erases }) => {
  const steps = summarySteps(database);
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

  test("covers an answer that is nothing but a thought, which the summariser does not see", async () => {
    const conversation = await store(10);
    const text = "update messages set content = '<think>Hm.</think>' where conversation_id = $1 and content = 'message 2'";
    await database.query({ text, values: [conversation.conversationId] });
    const { handler, given } = steps.makeRecording();
    await steps.runAll(handler, conversation);
    expect(given).toEqual([{ previous: null, contents: ["message 1", ...messagesFromTo(3, 4)] }]);
    expect(await steps.summaries.find(conversation)).toMatchObject({ coveredMessageCount: 4 });
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

  test("lets the slower of two at once write nothing, and go on from where the other came to", async () => {
    const conversation = await store(30);
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const summarise: Summarise = () => {
      begun.resolve();
      return gate.promise.then(() => "of the slow one");
    };
    const slow = steps.makeHandler(summarise, {}, 100);
    const slowStep = steps.step(slow, conversation);
    await begun.promise;
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

  /** With or without a summary, and messages enough for the next one. */
  async function createDue(summarised: boolean): Promise<OwnedConversation> {
    const conversation = await storeConversation(database, { count: 12 });
    if (!summarised) return conversation;
    await steps.runAll(steps.makeRecording().handler, conversation);
    await addMessages(database, conversation, 8);
    return conversation;
  }

  const storedRows = ({ conversationId }: OwnedConversation): Promise<unknown[]> =>
    database.query({ text: "select * from conversation_summaries where conversation_id = $1", values: [conversationId] });

  describe.each([
    ["the first", false],
    ["a later", true],
  ])("of %s version", (_name, summarised) => {
    test("leaves everything as it was when the summariser throws, and is made once it no longer does", async () => {
      const conversation = await createDue(summarised);
      const before = await storedRows(conversation);
      const failure = new AppError("model_unavailable", "The model is away.");
      let isAway = true;
      const handler = steps.makeHandler(async () => {
        if (isAway) throw failure;
        return "caught up";
      });
      await expect(steps.step(handler, conversation)).rejects.toBe(failure);
      expect(await storedRows(conversation)).toEqual(before);
      expect(await steps.remaining(handler, conversation)).toBe("more");
      isAway = false;
      await steps.runAll(handler, conversation);
      expect(await steps.summaries.find(conversation)).toMatchObject({ text: "caught up", version: before.length + 1 });
    });

    test("writes nothing when it is stopped while the summariser is at work", async () => {
      const conversation = await createDue(summarised);
      const before = await storedRows(conversation);
      const stopping = new AbortController();
      const stopped = steps.makeHandler(async () => {
        stopping.abort(new AppError("shutting_down", "The process stops."));
        return "too late";
      });
      await expect(steps.step(stopped, conversation, stopping.signal)).rejects.toMatchObject({ code: "shutting_down" });
      expect(await storedRows(conversation)).toEqual(before);
    });

    test("writes nothing when the conversation is deleted while the summariser is at work", async () => {
      const conversation = await createDue(summarised);
      const handler = steps.makeHandler(async () => {
        expect(await erases.conversation(conversation)).toMatchObject({ erased: { summaries: summarised ? 1 : 0 } });
        return "a summary of what was erased";
      });
      await steps.step(handler, conversation);
      expect(await storedRows(conversation)).toEqual([]);
      expect(await steps.remaining(handler, conversation)).toBe("erased");
    });
  });
});

const anySettings: fc.Arbitrary<SummarySettings> = fc.record({
  minMessages: fc.integer({ min: 1, max: 50 }),
  updateDelta: fc.integer({ min: 1, max: 50 }),
  historyWindow: fc.integer({ min: 0, max: 50 }),
});

/** The least number of uncovered messages at which a summary is due. */
function leastDue(settings: SummarySettings, hasSummary: boolean): number {
  for (let uncovered = 0; uncovered < 1_000; uncovered++) if (isSummaryDue(settings, { hasSummary, uncovered })) return uncovered;
  throw new Error("it is never due");
}

describe("isSummaryDue", () => {
  test.each([
    ["the first from minMessages on", {}, false, 10],
    ["the first from another minMessages on", { minMessages: 20 }, false, 20],
    ["the first only with a message before the window", { minMessages: 6 }, false, 7],
    ["the first without a window", { minMessages: 1, historyWindow: 0 }, false, 1],
    ["a later one when updateDelta messages lie before the window", {}, true, 11],
    ["a later one with another updateDelta", { updateDelta: 1 }, true, 7],
    ["a later one without a window", { updateDelta: 1, historyWindow: 0 }, true, 1],
  ])("is so for %s", (_what, settings, hasSummary, least) => expect(leastDue({ ...DEFAULT_SUMMARY, ...settings }, hasSummary)).toBe(least));

  test("property: when due, a message lies outside the window, and it stays due with every further message", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(200), (settings, hasSummary, further) => {
        const least = leastDue(settings, hasSummary);
        expect(least).toBeGreaterThan(settings.historyWindow);
        expect(isSummaryDue(settings, { hasSummary, uncovered: least + further })).toBe(true);
      }),
    );
  });

  test("property: counting beyond uncoveredCountLimit never changes it", () => {
    fc.assert(
      fc.property(anySettings, fc.boolean(), fc.nat(300), (settings, hasSummary, uncovered) => {
        const counted = Math.min(uncovered, uncoveredCountLimit(settings));
        expect(isSummaryDue(settings, { hasSummary, uncovered: counted })).toBe(isSummaryDue(settings, { hasSummary, uncovered }));
      }),
    );
    expect(uncoveredCountLimit(DEFAULT_SUMMARY)).toBe(11);
    expect(uncoveredCountLimit({ minMessages: 1, updateDelta: 1, historyWindow: 0 })).toBe(1);
  });
});
