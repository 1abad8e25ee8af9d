import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { AppError } from "../../../errors/app-error.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { storeConversation } from "../../support/databases/stored-conversation.ts";
import { addMessages, summarySteps, type SummarySteps } from "./summary-steps.ts";
import type { OwnedConversation } from "../../../stores/owner.ts";

describeOnBothDatabases("a summary in trouble", (open) => {
  let database: Database;
  let steps: SummarySteps;
  beforeAll(async () => {
    database = await open();
    steps = summarySteps(database);
  });
  afterAll(() => database.close());

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
        expect(await makeEraseStore(database).conversation(conversation)).toMatchObject({ erased: { summaries: summarised ? 1 : 0 } });
        return "a summary of what was erased";
      });
      await steps.step(handler, conversation);
      expect(await storedRows(conversation)).toEqual([]);
      expect(await steps.remaining(handler, conversation)).toBe("erased");
    });

    test.each([{ tenantId: "other" }, { userId: "other" }])("reads and writes nothing for another owner: %p", async (fields) => {
      const conversation = await createDue(summarised);
      const before = await storedRows(conversation);
      const { handler, given } = steps.makeRecording();
      await steps.step(handler, { ...conversation, ...fields });
      expect(given).toEqual([]);
      expect(await storedRows(conversation)).toEqual(before);
      expect(await steps.remaining(handler, { ...conversation, ...fields })).toBe("erased");
    });
  });
});
