import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL, clearOldTurns } from "../../../../stores/postgres/turns/turn-record-store.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/turns/recover-turn.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { waitUntil } from "../../../support/wait-until.ts";

/** Of whichever user. */
const TENANT = { tenantId: "tenant", userId: null };

const OUTCOME: OutcomeToStore = {
  outcome: { completed: true, error: null },
  ifSuperseded: { completed: false, error: { code: "turn_superseded" } },
};

describeStores("the records of turns", ({ database, turns, records, begin, complete }) => {
  test("tell of a turn that runs which conversation it holds and which message it answers", async () => {
    const { turnId: id, tenantId, userId, conversationId, messageId: userMessageId } = await begin();
    const notYet = { answerId: null, answer: null, bodyHash: null, outcome: null, endedAt: null, question: null };
    const state = { isHeld: true, isGone: false, startedAt: expect.any(Date) };
    expect(await records.find(TENANT, id)).toEqual({ id, tenantId, userId, conversationId, userMessageId, ...notYet, ...state });
  });

  test("tell of one that has ended its outcome, and the text of the answer from its message", async () => {
    const begun = await begin();
    const answer = sampleAnswer({ content: "答案 😀" });
    await turns.finish(begun, answer, [], OUTCOME);
    const found = await records.find(TENANT, begun.turnId);
    expect(found).toMatchObject({ answerId: answer.messageId, answer: "答案 😀", outcome: OUTCOME.outcome, isHeld: false });
    expect(found?.endedAt?.getTime()).toBeGreaterThanOrEqual(found?.startedAt.getTime() ?? Infinity);
    expect(JSON.stringify(found?.outcome)).not.toContain("答案");
  });

  test("keep the first outcome, without characters that the database takes none of", async () => {
    const begun = await begin();
    const odd = { ...OUTCOME.outcome, route_decision: { reason: "a\0b \\u0000 \ud800c" } };
    expect(await turns.finish(begun, null, [], { ...OUTCOME, outcome: odd })).toBe("stored");
    await turns.finish(begun, null, [], { outcome: { completed: false, error: { code: "internal_error" } }, ifSuperseded: {} });
    const stored = { ...OUTCOME.outcome, route_decision: { reason: "ab \\u0000 \ufffdc" } };
    expect((await records.find(TENANT, begun.turnId))?.outcome).toEqual(stored);
  });

  test("tell of one whose conversation was taken over that it was, and before its end that it holds nothing", async () => {
    const late = await begin({ leaseMs: EXPIRED_LEASE_MS });
    expect(await records.find(TENANT, late.turnId)).toMatchObject({ isHeld: false, outcome: null });
    await begin({ sessionId: late.sessionId });
    expect(await turns.finish(late, sampleAnswer(), [], OUTCOME)).toBe("superseded");
    expect((await records.find(TENANT, late.turnId))?.outcome).toEqual(OUTCOME.ifSuperseded);
  });

  test("leave none of a turn that was refused, and none of another tenant", async () => {
    const turn = sampleTurn({ userId: uuidv7() });
    await begin(turn);
    const refused = { ...turn, turnId: uuidv7() };
    expect(await turns.begin(refused)).toBeNull();
    expect(await records.find(TENANT, refused.turnId)).toBeNull();
    expect(await records.find({ tenantId: "tenant ", userId: null }, turn.turnId)).toBeNull();
  });

  test("asked to cancel notify whoever listens, and tell it at the next renewal; of no turn that is over or another's", async () => {
    const heard: string[] = [];
    const stop = await database.listen(CANCEL_CHANNEL, { onNotification: (id) => heard.push(id), onConnect: () => undefined });
    const begun = await begin();
    const [ended, dead] = [await complete(), await begin({ leaseMs: EXPIRED_LEASE_MS })];
    for (const turn of [ended, dead, { ...begun, tenantId: "other" }, { ...begun, userId: "other" }])
      expect(await records.requestCancel(turn, turn.turnId)).toBe(false);
    expect(await turns.renew(begun, LONG_LEASE_MS)).toBe(true);
    expect(await records.requestCancel(begun, begun.turnId)).toBe(true);
    await waitUntil("the notification", () => heard.length > 0);
    expect(heard).toEqual([begun.turnId]);
    await expect(turns.renew(begun, LONG_LEASE_MS)).rejects.toMatchObject({ code: "turn_cancelled" });
    expect(await turns.begin(sampleTurn({ sessionId: begun.sessionId }))).toBeNull();
    await stop();
  });

  test("are gone a day later, and emptied with their key; those of today are not", async () => {
    const key = { keyHash: uuidv7(), bodyHash: "body", earlier: null };
    const old = await begin({ key });
    const today = await begin();
    for (const turn of [old, today]) await turns.finish(turn, sampleAnswer(), [], OUTCOME);
    const text = "update turns set started_at = started_at - interval '25 hours' where id = $1";
    await database.query({ text, values: [old.turnId] });
    expect(await records.find(TENANT, old.turnId)).toMatchObject({ isGone: true, outcome: OUTCOME.outcome });
    expect(await clearOldTurns(database)).toBeGreaterThanOrEqual(1);
    expect(await records.find(TENANT, old.turnId)).toMatchObject({ isGone: true, outcome: null, bodyHash: null });
    expect(await records.findByKey(old, key.keyHash)).toBeNull();
    expect(await records.find(TENANT, today.turnId)).toMatchObject({ isGone: false, outcome: OUTCOME.outcome });
    expect(await clearOldTurns(database)).toBe(0);
  });
});
