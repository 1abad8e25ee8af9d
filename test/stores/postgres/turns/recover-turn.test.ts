import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { KeyTaken, type TurnKey } from "../../../../turn/context.ts";
import { clearOldTurns } from "../../../../stores/postgres/turns/turn-record-store.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/turns/recover-turn.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { BeginTurn } from "../../../../stores/postgres/turns/recover-turn.ts";

const FAILED: OutcomeToStore = { outcome: { completed: false, error: { code: "model_unavailable", retryable: true } }, ifSuperseded: {} };

describeStores("a turn with a key", ({ turns, records, erases, messagesOf, begin }) => {
  const sampleKeyed = (fields: Partial<BeginTurn> = {}): BeginTurn & { key: TurnKey } => {
    return { ...sampleTurn(fields), key: { keyHash: uuidv7(), bodyHash: "body", earlier: null } };
  };
  /** Another attempt at the message of this turn. */
  const again = (turn: BeginTurn & { key: TurnKey }, { hadOutcome = true, isOverHere = false } = {}): BeginTurn & { key: TurnKey } => {
    return { ...turn, turnId: uuidv7(), key: { ...turn.key, earlier: { turnId: turn.turnId, hadOutcome, isOverHere } } };
  };

  test.each(["the same session", "sessions of their own"])("is one of many that begin at once in %s", async (where) => {
    const turn = sampleKeyed();
    const sessionOf = () => (where === "the same session" ? turn.sessionId : uuidv7());
    const attempts = await Promise.all(
      Array.from({ length: 8 }, () =>
        turns.begin({ ...turn, turnId: uuidv7(), sessionId: sessionOf() }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(KeyTaken);
          return null;
        }),
      ),
    );
    const begun = attempts.filter((attempt) => attempt !== null);
    expect(begun).toHaveLength(1);
    expect(await records.findByKey(turn, turn.key.keyHash)).toMatchObject({ userMessageId: begun[0]?.messageId });
  });

  test("whose key is taken stores nothing and holds nothing", async () => {
    const first = sampleKeyed();
    await begin(first);
    const second = { ...first, ...sampleTurn(), key: first.key };
    await expect(turns.begin(second)).rejects.toBeInstanceOf(KeyTaken);
    expect(await messagesOf(await begin({ ...second, turnId: uuidv7(), key: undefined }))).toHaveLength(1);
  });

  test("whose key is taken by the turn that holds its conversation is told so, and one with another key that it is busy", async () => {
    const first = await begin(sampleKeyed());
    await expect(turns.begin({ ...first, turnId: uuidv7() })).rejects.toBeInstanceOf(KeyTaken);
    const another = sampleKeyed({ sessionId: first.sessionId });
    expect(await turns.begin(another)).toBeNull();
    expect(await records.findByKey(another, another.key.keyHash)).toBeNull();
  });

  test.each([{ tenantId: "other" }, { userId: "other" }])("leaves the same key to others: %p", async (fields) => {
    const first = sampleKeyed();
    await begin(first);
    expect(await turns.begin({ ...sampleTurn(fields), key: first.key })).not.toBeNull();
    expect(await records.findByKey({ ...first, ...fields }, uuidv7())).toBeNull();
  });

  test("that failed is begun again for the same message, which then names the new attempt, with the key", async () => {
    const first = sampleKeyed();
    const begun = await begin(first);
    const partial = sampleAnswer({ userMessageId: begun.messageId, content: "half", completed: false });
    await turns.finish(begun, partial, [], FAILED);
    const retry = again(first);
    const second = await begin(retry);
    expect([second.conversationId, second.messageId]).toEqual([begun.conversationId, begun.messageId]);
    const messages = await messagesOf(second);
    expect(messages.map(({ content, completed }) => `${content} ${completed}`)).toEqual(["a question true", "half false"]);
    expect(messages[0]?.metadata["turn_id"]).toBe(retry.turnId);
    expect(await records.findByKey(first, first.key.keyHash)).toMatchObject({ id: retry.turnId, bodyHash: "body", isHeld: true });
    expect(await records.find(first, first.turnId)).toMatchObject({ outcome: FAILED.outcome, bodyHash: null });
    expect(await turns.finish(second, sampleAnswer({ userMessageId: second.messageId }))).toBe("stored");
  });

  test("is begun again once of several that try at once", async () => {
    const first = sampleKeyed();
    await turns.finish(await begin(first), null, [], FAILED);
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => turns.begin(again(first))));
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const attempt of attempts) if (attempt.status === "rejected") expect(attempt.reason).toBeInstanceOf(KeyTaken);
  });

  test("whose process died is begun again once its lease is over, or at once by the process that knows that it is", async () => {
    const first = sampleKeyed();
    const begun = await begin(first);
    expect(await turns.begin(again(first, { hadOutcome: false }))).toBeNull();
    const second = again(first, { hadOutcome: false, isOverHere: true });
    expect(await begin(second)).toMatchObject({ messageId: begun.messageId });
    await turns.renew({ ...begun, turnId: second.turnId }, EXPIRED_LEASE_MS);
    const third = again({ ...second, key: first.key }, { hadOutcome: false });
    expect(await begin(third)).toMatchObject({ messageId: begun.messageId });
    // What the dead one still says is kept as incomplete, behind the attempt that has the conversation.
    expect(await turns.finish(begun, sampleAnswer({ userMessageId: begun.messageId }))).toBe("superseded");
  });

  test("that has got an outcome since it was looked at is looked at again", async () => {
    const first = sampleKeyed();
    const begun = await begin(first);
    await turns.finish(begun, sampleAnswer());
    await expect(turns.begin(again(first, { hadOutcome: false }))).rejects.toBeInstanceOf(KeyTaken);
  });

  test("is not begun again when the conversation has gone on", async () => {
    const first = sampleKeyed();
    await turns.finish(await begin(first), null, [], FAILED);
    const next = await begin({ sessionId: first.sessionId });
    const refusal = { code: "turn_superseded", message: expect.stringMatching(/new Idempotency-Key/) };
    await expect(turns.begin(again(first))).rejects.toMatchObject(refusal);
    await turns.finish(next, null);
    await expect(turns.begin(again(first))).rejects.toMatchObject(refusal);
  });

  test("is erased with what every attempt has said", async () => {
    const first = sampleKeyed({ userId: uuidv7() });
    const begun = await begin(first);
    await turns.finish(begun, sampleAnswer({ completed: false, metadata: { turn_id: first.turnId } }), [], FAILED);
    const retry = again(first);
    const second = await begin(retry);
    await turns.finish(second, sampleAnswer({ metadata: { turn_id: retry.turnId } }));
    expect((await erases.episode(first, begun.messageId))?.erased.messages).toBe(3);
    expect(await messagesOf(second)).toEqual([]);
    expect(await records.findByKey(first, first.key.keyHash)).toBeNull();
    expect(await records.find(first, first.turnId)).toBeNull();
  });
});

describeStores("a begin whose reply was lost", ({ database, turns, records, contentsOf, messageCountOf, begin, complete }) => {
  test("is found with its conversation and its message when it was stored", async () => {
    const { conversationId, messageId, ...turn } = await begin();
    expect(await turns.findBegun(turn)).toEqual({ conversationId, messageId });
    expect(await turns.findBegun({ ...turn, userId: "another" })).toBeNull();
  });

  test("never takes place once it was looked for in vain, and nothing of it is stored", async () => {
    const turn = sampleTurn();
    expect(await turns.findBegun(turn)).toBeNull();
    expect(await turns.findBegun(turn)).toBeNull();
    await expect(turns.begin(turn)).rejects.toThrow();
    const first = await complete({ sessionId: turn.sessionId, message: "sent again" });
    expect(await contentsOf(first)).toEqual(["sent again", "an answer"]);
    expect(await records.find({ tenantId: "tenant", userId: null }, turn.turnId)).toBeNull();
  });

  test("is taken back whole: its message is gone, and the conversation is as it was before", async () => {
    const first = await complete();
    const { sessionId } = first;
    await turns.takeBack(await begin({ sessionId, message: "nobody was told of this" }));
    expect(await contentsOf(first)).toEqual(["a question", "an answer"]);
    await complete({ sessionId, message: "sent again" });
    expect(await contentsOf(first)).toEqual(["a question", "an answer", "sent again", "an answer"]);
    expect(await messageCountOf(first)).toBe(4);
  });

  test("is not taken back from another turn that has the conversation by now", async () => {
    const first = await begin({ leaseMs: EXPIRED_LEASE_MS });
    await complete({ sessionId: first.sessionId, message: "the next one" });
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
});
