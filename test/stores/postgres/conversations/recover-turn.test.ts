import { expect, test } from "@jest/globals";
import { clearOldTurns } from "../../../../stores/postgres/conversations/turn-record-store.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { beginFreely, completeTurn, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";

const OUTCOME: OutcomeToStore = { outcome: { completed: true }, ifSuperseded: { completed: false } };

describeStores("a begin whose reply was lost", ({ database, turns, records, contentsOf, messageCountOf }) => {
  test("is found with its conversation and its message when it was stored", async () => {
    const { conversationId, messageId, ...turn } = await beginFreely(turns, sampleTurn());
    expect(await turns.findBegun(turn)).toEqual({ conversationId, messageId });
    expect(await turns.findBegun({ ...turn, userId: "another" })).toBeNull();
  });

  test("never takes place once it was looked for in vain, and nothing of it is stored", async () => {
    const turn = sampleTurn();
    expect(await turns.findBegun(turn)).toBeNull();
    expect(await turns.findBegun(turn)).toBeNull();
    await expect(turns.begin(turn)).rejects.toThrow();
    const first = await completeTurn(turns, sampleTurn({ sessionId: turn.sessionId, message: "sent again" }));
    expect(await contentsOf(first)).toEqual(["sent again", "an answer"]);
    expect(await records.find({ tenantId: "tenant", userId: null }, turn.turnId)).toBeNull();
  });

  test("is taken back whole: its message is gone, and the conversation is as it was before", async () => {
    const first = await completeTurn(turns, sampleTurn());
    const { sessionId } = first;
    await turns.takeBack(await beginFreely(turns, sampleTurn({ sessionId, message: "nobody was told of this" })));
    expect(await contentsOf(first)).toEqual(["a question", "an answer"]);
    await completeTurn(turns, sampleTurn({ sessionId, message: "sent again" }));
    expect(await contentsOf(first)).toEqual(["a question", "an answer", "sent again", "an answer"]);
    expect(await messageCountOf(first)).toBe(4);
  });

  test("is not taken back from another turn that has the conversation by now", async () => {
    const first = await beginFreely(turns, sampleTurn({ leaseMs: EXPIRED_LEASE_MS }));
    await completeTurn(turns, sampleTurn({ sessionId: first.sessionId, message: "the next one" }));
    await turns.takeBack(first);
    expect(await contentsOf(first)).toEqual(["a question", "the next one", "an answer"]);
  });

  test("leaves an id behind for a day, and then nothing", async () => {
    const turn = sampleTurn();
    await turns.findBegun(turn);
    await database.query({ text: "update turns set started_at = started_at - interval '25 hours' where id = $1", values: [turn.turnId] });
    await clearOldTurns(database);
    expect(await database.query({ text: "select from turns where id = $1", values: [turn.turnId] })).toEqual([]);
  });

  test.each([
    ["an answer", sampleAnswer],
    ["no answer", () => null],
  ])("has its brother at the end of a turn: storing %s again says what it said, and changes nothing", async (_name, makeAnswer) => {
    const begun = await beginFreely(turns, sampleTurn());
    const answer = makeAnswer();
    expect(await turns.finish(begun, answer, [], OUTCOME)).toBe("stored");
    const stored = await contentsOf(begun);
    await beginFreely(turns, sampleTurn({ sessionId: begun.sessionId }));
    expect(await turns.finish(begun, answer, [], OUTCOME)).toBe("stored");
    expect(await contentsOf(begun)).toEqual([...stored, "a question"]);
  });
});
