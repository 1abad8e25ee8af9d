import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { RunningTurn } from "../../graph/start-turn.ts";
import type { TurnEvent } from "../../turn/events.ts";
import { makeConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import type { Database, Queryable } from "../../stores/postgres/database/database.ts";
import { makeTurnStore } from "../../stores/postgres/conversations/turn-store.ts";
import { openGraphWithModel, type GraphWithModel, type Talk } from "../support/services/graph-with-model.ts";
import { beginFreely, EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleTurn } from "../support/samples/sample-turns.ts";

const LEASE_MS = 1_200;

describe("a turn", () => {
  let opened: GraphWithModel;
  beforeAll(async () => {
    opened = await openGraphWithModel({ leaseMs: LEASE_MS });
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    opened.server.answer({ tokens: ["Hi ", "there."] });
    opened.server.seen.splice(0);
  });

  describe("and its lease", () => {
    /** A turn whose model has said "half " and then falls silent. */
    async function startHangingTurn(talk: Talk): Promise<RunningTurn> {
      opened.server.answer({ tokens: ["half "], ending: "hang" });
      const turn = talk.start("Hello!");
      for await (const event of turn.events()) if (event.status === "token") return turn;
      throw new Error("the turn ended without a token");
    }

    test("holds the conversation longer than one lease while the model speaks", async () => {
      opened.server.answer({ tokens: Array.from({ length: 20 }, () => "slow "), betweenMs: (2.2 * LEASE_MS) / 20 });
      const talk = opened.makeTalk();
      const turn = talk.start("Hello!");
      await turn.accepted;
      const letIn: boolean[] = [];
      for (let looks = 0; looks < 16; looks++) {
        letIn.push(await talk.isFree());
        await sleep(LEASE_MS / 8);
      }
      expect(letIn).toEqual(letIn.map(() => false));
      expect(await turn.ended).toMatchObject({ status: "done", content: { answer: "slow ".repeat(20) } });
    });

    test("ends with turn_superseded when another turn has taken the conversation, which keeps it", async () => {
      const talk = opened.makeTalk();
      const turn = await startHangingTurn(talk);
      const turns = makeTurnStore(opened.database);
      await turns.renew({ ...talk.input, ...(await turn.accepted), turnId: turn.turnId }, EXPIRED_LEASE_MS);
      const next = await beginFreely(turns, sampleTurn(talk.input));
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect((await talk.stored()).at(-1)).toMatchObject({ content: "half ", completed: false });
      expect(await turns.renew(next, LONG_LEASE_MS)).toBe(true);
    });

    test("ends with turn_superseded when another turn took the conversation just before the answer was stored", async () => {
      let isOvertaken = false;
      const overtaken: Database = {
        ...opened.database,
        transaction: (work) =>
          opened.database.transaction((transaction) =>
            work({
              async query(statement) {
                if (statement.name === "turn-finish") {
                  await transaction.query({ text: "update conversations set turn_id = gen_random_uuid()" });
                  isOvertaken = true;
                }
                return transaction.query(statement);
              },
            }),
          ),
      };
      const talk = opened.makeTalk(opened.makeGraph({ database: overtaken, leaseMs: LONG_LEASE_MS }));
      expect(await talk.say("Hello!")).toMatchObject({ status: "error", content: { code: "turn_superseded", retryable: true } });
      expect(isOvertaken).toBe(true);
      expect((await talk.stored()).at(-1)).toMatchObject({ content: "Hi there.", completed: false });
    });

    test("ends with turn_superseded when the conversation is deleted, and leaves nothing behind", async () => {
      const talk = opened.makeTalk();
      const turn = await startHangingTurn(talk);
      const { conversationId } = await turn.accepted;
      const conversations = makeConversationStore(opened.database);
      await makeEraseStore(opened.database).conversation({ ...talk.input, conversationId });
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_superseded" } });
      expect(await talk.stored()).toEqual([]);
      expect(await conversations.find(talk.input, conversationId)).toBeNull();
    });
  });

  describe("when the database fails", () => {
    /** A talk over the database with one statement, by its name, that fails so many times. */
    function makeTalkOverFailing(name: string, times: number, error: Error, leaseMs = LONG_LEASE_MS): Talk {
      let left = times;
      const over = (where: Queryable): Queryable => ({
        query: (statement) => (statement.name === name && left-- > 0 ? Promise.reject(error) : where.query(statement)),
      });
      const failing: Database = {
        ...opened.database,
        ...over(opened.database),
        transaction: (work) => opened.database.transaction((transaction) => work(over(transaction))),
      };
      return opened.makeTalk(opened.makeGraph({ database: failing, leaseMs }));
    }

    const gone = (): AppError =>
      new AppError("storage_unavailable", "The database cannot be reached.", { cause: new Error("ECONNREFUSED") });

    test("at its begin is refused, asks nothing of the model and tells onError why", async () => {
      const heard: AppError[] = [];
      const turn = makeTalkOverFailing("turn-begin", 1, gone()).start("Hello!", { onError: (error) => heard.push(error) });
      await expect(turn.accepted).rejects.toMatchObject({ code: "storage_unavailable" });
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "storage_unavailable", retryable: true } });
      expect(heard.map(({ cause }) => (cause as Error).message)).toEqual(["ECONNREFUSED"]);
      expect(opened.server.seen).toHaveLength(0);
    });

    test("for a moment at the window, behind its stored message, tries again and is answered", async () => {
      const talk = makeTalkOverFailing("window-newest", 1, gone());
      expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { completed: true } });
      expect(await talk.isFree()).toBe(true);
    });

    test("at the window, and is cancelled meanwhile, gives the conversation back", async () => {
      const talk = makeTalkOverFailing("window-newest", 1_000, gone());
      const turn = talk.start("Hello!");
      await sleep(300);
      turn.cancel();
      expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
      expect(await talk.isFree()).toBe(true);
    });

    test("for longer than a lease while it stores the answer holds the conversation, and stores it at last", async () => {
      const failing = makeTalkOverFailing("turn-finish", 12, gone(), LEASE_MS);
      const turn = failing.start("Hello!");
      await sleep(2.5 * LEASE_MS);
      expect(await failing.isFree()).toBe(false);
      expect(await turn.ended).toMatchObject({ status: "done", content: { completed: true } });
      expect((await failing.stored()).map(({ content }) => content)).toEqual(["Hello!", "Hi there."]);
    }, 30_000);

    test("for a moment while it stores the answer tries again, and the answer is stored once", async () => {
      const talk = makeTalkOverFailing("turn-finish", 2, gone());
      expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { completed: true } });
      expect((await talk.stored()).map(({ content }) => content)).toEqual(["Hello!", "Hi there."]);
    });

    test("and the acknowledgement of the stored answer is lost, the answer is stored once all the same", async () => {
      let lost = false;
      const forgetful: Database = {
        ...opened.database,
        async transaction(work) {
          let isFinish = false;
          const result = await opened.database.transaction((transaction) =>
            work({
              query(statement) {
                isFinish ||= statement.name === "turn-finish";
                return transaction.query(statement);
              },
            }),
          );
          if (!isFinish || lost) return result;
          lost = true;
          throw gone();
        },
      };
      const talk = opened.makeTalk(opened.makeGraph({ database: forgetful }));
      expect(await talk.say("Hello!")).toMatchObject({ status: "done", content: { completed: true } });
      expect(lost).toBe(true);
      expect((await talk.stored()).map(({ content, completed }) => [content, completed])).toEqual([
        ["Hello!", true],
        ["Hi there.", true],
      ]);
    });

    test("with an error of its own while it stores the answer ends in internal_error, whose words stay inside", async () => {
      const heard: AppError[] = [];
      const talk = makeTalkOverFailing("turn-finish", 1, new Error("secret words"));
      const last = await talk.start("Hello!", { onError: (error) => heard.push(error) }).ended;
      expect(last).toMatchObject({ status: "error", content: { code: "internal_error" } });
      expect(JSON.stringify(last)).not.toContain("secret words");
      expect(heard.map(({ cause }) => (cause as Error).message)).toEqual(["secret words"]);
    });
  });

  test("whose prompt is at its limit says what was shortened, and answers all the same", async () => {
    const talk = opened.makeTalk(opened.makeGraph({ contextTokenBudget: 350 }));
    await talk.say("word ".repeat(120));
    const events: TurnEvent[] = [];
    for await (const event of talk.start("word ".repeat(120)).events()) events.push(event);
    expect(events.filter(({ status }) => status === "notice").map(({ content }) => content)).toEqual([
      { code: "context_trimmed", message: expect.stringContaining("350 tokens: 1 long message is shortened.") },
    ]);
    expect(events.at(-1)).toMatchObject({ status: "done", content: { receipt: { window_messages: 2 }, degraded: [] } });
  });
});
