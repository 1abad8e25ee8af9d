import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationGraphParts } from "../../graph/create-conversation-graph.ts";
import { startTurn, type LastEvent } from "../../graph/start-turn.ts";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import type { Database, Queryable } from "../../stores/postgres/database/database.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { openGraphWithModel, type GraphWithModel } from "../support/services/graph-with-model.ts";
import { storeConversation, summariseThrough } from "../support/databases/stored-conversation.ts";
import type { OwnedConversation } from "../../stores/owner.ts";

type Conversation = OwnedConversation & { sessionId: string };

describe("the summary job of a turn", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel();
  });
  afterAll(() => opened.close());
  beforeEach(() => opened.server.answer({ tokens: ["Hi ", "there."] }));

  function say({ tenantId, userId, sessionId }: Conversation, parts: Partial<ConversationGraphParts> = {}): Promise<LastEvent> {
    return startTurn(opened.makeGraph(parts), { tenantId, userId, sessionId, message: "And now?" }).ended;
  }

  /** How many answers "Hi there." and how many jobs of a conversation are stored. */
  async function written(conversation: OwnedConversation, where = opened.database): Promise<{ answers: number; jobs: number }> {
    const text = "select 1 from messages where conversation_id = $1 and content = 'Hi there.'";
    const answers = await where.query({ text, values: [conversation.conversationId] });
    return { answers: answers.length, jobs: await makeJobOverview(where).pending(conversation) };
  }

  test.each([
    [7, 0],
    [8, 1],
    [9, 1],
  ])("of a conversation of %i messages without a summary is added %i times: the tenth makes it due", async (count, jobs) => {
    const conversation = await storeConversation(opened.database, { count });
    expect(await say(conversation)).toMatchObject({ status: "done" });
    expect(await written(conversation)).toEqual({ answers: 1, jobs });
  });

  test.each([
    [12, 0],
    [13, 1],
  ])("of a conversation of %i messages of which 4 are covered is added %i times", async (count, jobs) => {
    const conversation = await storeConversation(opened.database, { count });
    await summariseThrough(opened.database, conversation, 4);
    await say(conversation);
    expect(await written(conversation)).toEqual({ answers: 1, jobs });
  });

  test("is one as long as it waits, however many turns follow", async () => {
    const conversation = await storeConversation(opened.database, { count: 8 });
    for (let turn = 1; turn <= 3; turn++) {
      await say(conversation);
      expect(await written(conversation)).toEqual({ answers: turn, jobs: 1 });
    }
  });

  test.each([
    [8, 0],
    [9, 1],
  ])("does not count an answer that broke off: behind %i messages it is added %i times", async (count, jobs) => {
    opened.server.answer({ tokens: ["half "], ending: "cut" });
    const conversation = await storeConversation(opened.database, { count });
    expect(await say(conversation)).toMatchObject({ status: "error" });
    expect(await written(conversation)).toEqual({ answers: 0, jobs });
  });

  test("is never added when summaries are switched off", async () => {
    const conversation = await storeConversation(opened.database, { count: 50 });
    await say(conversation, { summary: null });
    expect(await written(conversation)).toEqual({ answers: 1, jobs: 0 });
  });

  test("follows the settings of the graph", async () => {
    const conversation = await storeConversation(opened.database, { count: 2 });
    await say(conversation, { historyWindow: 2, summary: { minMessages: 4, updateDelta: 2 } });
    expect(await written(conversation)).toEqual({ answers: 1, jobs: 1 });
  });

  describe("and its answer", () => {
    const gone = (): AppError => new AppError("storage_unavailable", "The database cannot be reached.");

    /** The database itself, but for its transactions. */
    function withTransaction(run: (work: (transaction: Queryable) => Promise<unknown>) => Promise<unknown>): Database {
      return { ...opened.database, transaction: run as Database["transaction"] };
    }

    test("are taken back together when the transaction is rolled back at its end", async () => {
      const database = withTransaction((work) =>
        opened.database.transaction(async (transaction) => {
          await work(transaction);
          throw new Error("lost before the commit");
        }),
      );
      const conversation = await storeConversation(opened.database, { count: 8 });
      expect(await say(conversation, { database })).toMatchObject({ status: "error", content: { code: "internal_error" } });
      expect(await written(conversation)).toEqual({ answers: 0, jobs: 0 });
    });

    test("are both left out when the job cannot be written", async () => {
      const database = withTransaction((work) =>
        opened.database.transaction((transaction) =>
          work({
            query: (statement) => (statement.name === "job-add" ? Promise.reject(new Error("no job")) : transaction.query(statement)),
          }),
        ),
      );
      const conversation = await storeConversation(opened.database, { count: 8 });
      expect(await say(conversation, { database })).toMatchObject({ status: "error", content: { code: "internal_error" } });
      expect(await written(conversation)).toEqual({ answers: 0, jobs: 0 });
    });

    test("are both left out when the conversation is deleted before they are stored", async () => {
      const conversation = await storeConversation(opened.database, { count: 8 });
      const database = withTransaction(async (work) => {
        await makeEraseStore(opened.database).conversation(conversation);
        return opened.database.transaction(work);
      });
      expect(await say(conversation, { database })).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect(await written(conversation)).toEqual({ answers: 0, jobs: 0 });
    });

    test.each<[string, (work: (transaction: Queryable) => Promise<unknown>) => Promise<unknown>]>([
      ["the database was away for a moment", () => Promise.reject(gone())],
      [
        "the transaction was lost before its commit",
        (work) => opened.database.transaction((transaction) => work(transaction).then(() => Promise.reject(gone()))),
      ],
      ["only the acknowledgement of the commit was lost", (work) => opened.database.transaction(work).then(() => Promise.reject(gone()))],
    ])("are both written once when %s", async (_name, first) => {
      let tries = 0;
      const database = withTransaction((work) => (++tries === 1 ? first(work) : opened.database.transaction(work)));
      const conversation = await storeConversation(opened.database, { count: 8 });
      expect(await say(conversation, { database })).toMatchObject({ status: "done", content: { completed: true } });
      expect(tries).toBe(2);
      expect(await written(conversation)).toEqual({ answers: 1, jobs: 1 });
    });

    test("are seen together by another process, at the commit", async () => {
      const { url, drop } = await createRealDatabase();
      const [own, other] = await Promise.all([openPostgres(url), openPostgres(url)]);
      const conversation = await storeConversation(own, { count: 8 });
      const beforeTheCommit: unknown[] = [];
      const database: Database = {
        ...own,
        transaction: (work) =>
          own.transaction(async (transaction) => {
            const result = await work(transaction);
            beforeTheCommit.push(await written(conversation, other));
            return result;
          }),
      };
      expect(await say(conversation, { database })).toMatchObject({ status: "done" });
      expect(beforeTheCommit).toEqual([{ answers: 0, jobs: 0 }]);
      expect(await written(conversation, other)).toEqual({ answers: 1, jobs: 1 });
      await own.close();
      await other.close();
      await drop();
    });
  });
});
