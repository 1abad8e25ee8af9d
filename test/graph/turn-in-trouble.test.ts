import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationGraphParts } from "../../graph/create-conversation-graph.ts";
import { startTurn, type LastEvent } from "../../graph/start-turn.ts";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import type { OwnedConversation } from "../../turn/owner.ts";
import { makeTurnStore } from "../../stores/postgres/turns/turn-store.ts";
import type { Database, Statement } from "../../stores/postgres/database/database.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { interceptStatements } from "../support/databases/record-statements.ts";
import { storeConversation, summariseThrough } from "../support/databases/stored-conversation.ts";
import { beginFreely, EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleTurn } from "../support/samples/sample-turns.ts";
import { useGraphWithModel, type Talk } from "../support/services/graph-with-model.ts";

const LEASE_MS = 1_200;
const gone = (): AppError => new AppError("storage_unavailable", "The database cannot be reached.", { cause: new Error("ECONNREFUSED") });

describe("a turn", () => {
  const opened = useGraphWithModel({ leaseMs: LEASE_MS });

  describe("that holds a lease", () => {
    test("renews the lease while the model is silent", async () => {
      const renewedTwice = Promise.withResolvers<void>();
      let renewals = 0;
      const database = interceptStatements(opened.database, (statement, run) => {
        if (statement.name === "turn-renew" && ++renewals === 2) renewedTwice.resolve();
        return run();
      });
      opened.server.answer({ tokens: ["slow"], until: renewedTwice.promise });
      const last = await opened.makeTalk(opened.makeGraph({ database, leaseMs: 300 })).say("Hello!");
      expect(last).toMatchObject({ status: "done", content: { answer: "slow" } });
    });

    test("ends with turn_superseded when another turn has taken the conversation, and the other turn keeps it", async () => {
      const talk = opened.makeTalk();
      const turn = await talk.hang();
      const turns = makeTurnStore(opened.database);
      await turns.renew({ ...talk.input, ...(await turn.accepted), turnId: turn.turnId }, EXPIRED_LEASE_MS);
      const next = await beginFreely(turns, sampleTurn(talk.input));
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect((await talk.stored()).at(-1)).toMatchObject({ content: "half ", completed: false });
      expect(await turns.renew(next, LONG_LEASE_MS)).toBe(true);
    });

    test("ends with turn_superseded when another turn took the conversation just before the answer was stored", async () => {
      const overtaken = interceptStatements(opened.database, async (statement, run, where) => {
        if (statement.name === "turn-finish") await where.query({ text: "update conversations set turn_id = gen_random_uuid()" });
        return run();
      });
      const talk = opened.makeTalk(opened.makeGraph({ database: overtaken, leaseMs: LONG_LEASE_MS }));
      expect(await talk.say("Hello!")).toMatchObject({ status: "error", content: { code: "turn_superseded", retryable: true } });
      const metadata = { error: "turn_superseded" };
      expect((await talk.stored()).at(-1)).toMatchObject({ content: "Hi there.", completed: false, metadata });
    });

    test("ends with turn_superseded when the conversation is deleted, and leaves nothing behind", async () => {
      const talk = opened.makeTalk();
      const turn = await talk.hang();
      const { conversationId } = await turn.accepted;
      await makeEraseStore(opened.database).conversation({ ...talk.input, conversationId });
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect(await talk.stored()).toEqual([]);
    });
  });

  describe("whose database fails", () => {
    /** A talk over the database whose statement `name` fails `times` times; its turns begin without their window. */
    function makeTalkOverFailing(name: string, times: number, leaseMs = LONG_LEASE_MS): Talk {
      let left = times;
      const database = interceptStatements(opened.database, async (statement, run) => {
        if (statement.name === name && left-- > 0) throw gone();
        const rows = await run();
        return statement.name === "turn-begin" ? rows.map((row) => ({ ...(row as object), newest: null })) : rows;
      });
      return opened.makeTalk(opened.makeGraph({ database, leaseMs }));
    }

    test("at the beginning is refused, asks nothing of the model and gives onError the cause", async () => {
      const heard: AppError[] = [];
      const turn = makeTalkOverFailing("turn-begin", 1).start("Hello!", { onError: (error) => heard.push(error) });
      await expect(turn.accepted).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "storage_unavailable", retryable: true } });
      expect(heard.map(({ cause }) => (cause as Error).message)).toEqual(["ECONNREFUSED"]);
      expect(opened.server.seen).toHaveLength(0);
    });

    test("for a moment while the window is read tries again and is answered", async () => {
      const talk = makeTalkOverFailing("window-newest", 1);
      expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { completed: true } });
      expect(await talk.isFree()).toBe(true);
    });

    test("while the window is read can be cancelled, and then frees the conversation", async () => {
      const talk = makeTalkOverFailing("window-newest", 1_000);
      const turn = talk.start("Hello!");
      await sleep(300);
      turn.cancel();
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
      expect(await talk.isFree()).toBe(true);
    });

    test("while the answer is stored holds the conversation, even longer than a lease, and stores the answer at last", async () => {
      const talk = makeTalkOverFailing("turn-finish", 12, LEASE_MS);
      const turn = talk.start("Hello!");
      await sleep(2.5 * LEASE_MS);
      expect(await talk.isFree()).toBe(false);
      expect(await turn.ended).toMatchObject({ status: "done", content: { completed: true } });
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["Hello!", "Hi there."]);
    });
  });

  describe("with summaries", () => {
    const say = (
      { tenantId, userId, sessionId }: OwnedConversation & { sessionId: string },
      { onError, ...parts }: Partial<ConversationGraphParts> & { onError?: (error: AppError) => void } = {},
    ): Promise<LastEvent> =>
      startTurn(opened.makeGraph(parts), { tenantId, userId, sessionId, message: "And now?" }, onError ? { onError } : {}).ended;

    /** How many answers "Hi there." and how many jobs of a conversation are stored. */
    async function stored(conversation: OwnedConversation, where = opened.database): Promise<{ answers: number; jobs: number }> {
      const text = "select 1 from messages where conversation_id = $1 and content = 'Hi there.'";
      const answers = await where.query({ text, values: [conversation.conversationId] });
      return { answers: answers.length, jobs: await makeJobOverview(where).hasten(conversation) };
    }

    /** The database, which answers the statement that stores an answer with its jobs by `finish`. */
    const finishingBy = (
      finish: (statement: Statement, run: () => Promise<unknown[]>) => Promise<unknown[]>,
      where = opened.database,
    ): Database => interceptStatements(where, (statement, run) => (statement.name === "turn-finish" ? finish(statement, run) : run()));

    test.each<[number, number, Partial<ConversationGraphParts>, number]>([
      [12, 4, {}, 0],
      [13, 4, {}, 1],
      [50, 0, { summary: null }, 0],
      [2, 0, { historyWindow: 2, summary: { minMessages: 4, updateDelta: 2 } }, 1],
    ])("after %i messages, %i of them covered, with the settings %j stores %i jobs", async (count, covered, parts, jobs) => {
      const conversation = await storeConversation(opened.database, { count });
      if (covered > 0) await summariseThrough(opened.database, conversation, covered);
      expect(await say(conversation, parts)).toMatchObject({ status: "done" });
      expect(await stored(conversation)).toEqual({ answers: 1, jobs });
    });

    test("stores neither answer nor job when the job cannot be written, and shows no database text", async () => {
      const database = finishingBy(({ values = [], ...statement }) =>
        opened.database.query({ ...statement, values: [...values.slice(0, -1), "secret words"] }),
      );
      const conversation = await storeConversation(opened.database, { count: 8 });
      const heard: AppError[] = [];
      const last = await say(conversation, { database, onError: (error) => heard.push(error) });
      expect(last).toMatchObject({ status: "error", content: { code: "internal_error" } });
      expect(JSON.stringify(last)).not.toContain("secret words");
      expect(heard.map(({ cause }) => (cause as Error).message)).toEqual([expect.stringContaining("type json")]);
      expect(await stored(conversation)).toEqual({ answers: 0, jobs: 0 });
    });

    test("stores neither answer nor job when the conversation is deleted first", async () => {
      const conversation = await storeConversation(opened.database, { count: 8 });
      let erasing: Promise<unknown> | undefined;
      const database = finishingBy(async (_statement, run) => {
        await (erasing ??= makeEraseStore(opened.database).conversation(conversation));
        return run();
      });
      expect(await say(conversation, { database })).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect(await stored(conversation)).toEqual({ answers: 0, jobs: 0 });
    });

    test.each<[string, (statement: Statement) => Promise<unknown>]>([
      ["the database was away for a moment", async () => undefined],
      [
        "the statement was lost before its commit",
        (statement) => opened.database.transaction((transaction) => transaction.query(statement).then(() => Promise.reject(gone()))),
      ],
      ["only the acknowledgement of the statement was lost", (statement) => opened.database.query(statement)],
    ])("stores answer and job once when %s", async (_name, first) => {
      let tries = 0;
      const database = finishingBy((statement, run) => (++tries === 1 ? first(statement).then(() => Promise.reject(gone())) : run()));
      const conversation = await storeConversation(opened.database, { count: 8 });
      expect(await say(conversation, { database })).toMatchObject({ status: "done", content: { completed: true } });
      expect(tries).toBeGreaterThan(1);
      expect(await stored(conversation)).toEqual({ answers: 1, jobs: 1 });
    });

    test("shows answer and job together to another process at the commit", async () => {
      const { url, drop } = await createRealDatabase();
      const [own, other] = await Promise.all([openPostgres(url), openPostgres(url)]);
      const conversation = await storeConversation(own, { count: 8 });
      const beforeTheCommit: unknown[] = [];
      const finishAndLook = (statement: Statement): Promise<unknown[]> =>
        own.transaction(async (transaction) => {
          const rows = await transaction.query(statement);
          beforeTheCommit.push(await stored(conversation, other));
          return rows;
        });
      const database = finishingBy(finishAndLook, own);
      expect(await say(conversation, { database })).toMatchObject({ status: "done" });
      expect(beforeTheCommit).toEqual([{ answers: 0, jobs: 0 }]);
      expect(await stored(conversation, other)).toEqual({ answers: 1, jobs: 1 });
      await Promise.all([own.close(), other.close()]);
      await drop();
    });
  });
});
