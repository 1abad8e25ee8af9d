import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { KeyTaken, type TurnKey } from "../../../../turn/context.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { beginFreely, EXPIRED_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { BeginTurn } from "../../../../stores/postgres/conversations/recover-turn.ts";

const FAILED: OutcomeToStore = { outcome: { completed: false, error: { code: "model_unavailable", retryable: true } }, ifSuperseded: {} };

describeStores("a turn with a key", ({ turns, records, erases, messagesOf }) => {
  const sampleKey = (): TurnKey => ({ keyHash: uuidv7(), bodyHash: "body", earlier: null });
  const sampleKeyed = (fields: Partial<BeginTurn> = {}): BeginTurn & { key: TurnKey } => ({ ...sampleTurn(fields), key: sampleKey() });
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
    expect(await records.findByKey(turn, turn.key.keyHash)).toMatchObject({ questionId: begun[0]?.messageId });
  });

  test("whose key is taken stores nothing and holds nothing", async () => {
    const first = sampleKeyed();
    await beginFreely(turns, first);
    const second = { ...first, ...sampleTurn(), key: first.key };
    await expect(turns.begin(second)).rejects.toBeInstanceOf(KeyTaken);
    expect(await messagesOf(await beginFreely(turns, { ...second, turnId: uuidv7(), key: undefined }))).toHaveLength(1);
  });

  test("whose key is taken by the turn that holds its conversation is told so, and one with another key that it is busy", async () => {
    const first = await beginFreely(turns, sampleKeyed());
    await expect(turns.begin({ ...first, turnId: uuidv7() })).rejects.toBeInstanceOf(KeyTaken);
    const another = sampleKeyed({ sessionId: first.sessionId });
    expect(await turns.begin(another)).toBeNull();
    expect(await records.findByKey(another, another.key.keyHash)).toBeNull();
  });

  test.each([{ tenantId: "other" }, { userId: "other" }])("leaves the same key to others: %p", async (fields) => {
    const first = sampleKeyed();
    await beginFreely(turns, first);
    expect(await turns.begin({ ...sampleTurn(fields), key: first.key })).not.toBeNull();
    expect(await records.findByKey({ ...first, ...fields }, uuidv7())).toBeNull();
  });

  test("that failed is begun again for the same message, which then names the new attempt, with the key", async () => {
    const first = sampleKeyed();
    const begun = await beginFreely(turns, first);
    const partial = sampleAnswer({ questionId: begun.messageId, content: "half", completed: false });
    await turns.finish(begun, partial, [], FAILED);
    const retry = again(first);
    const second = await beginFreely(turns, retry);
    expect([second.conversationId, second.messageId]).toEqual([begun.conversationId, begun.messageId]);
    const messages = await messagesOf(second);
    expect(messages.map(({ content, completed }) => `${content} ${completed}`)).toEqual(["a question true", "half false"]);
    expect(messages[0]?.metadata["turn_id"]).toBe(retry.turnId);
    expect(await records.findByKey(first, first.key.keyHash)).toMatchObject({ id: retry.turnId, bodyHash: "body", isHeld: true });
    expect(await records.find(first, first.turnId)).toMatchObject({ outcome: FAILED.outcome, bodyHash: null });
    expect(await turns.finish(second, sampleAnswer({ questionId: second.messageId }))).toBe("stored");
  });

  test("is begun again once of several that try at once", async () => {
    const first = sampleKeyed();
    await turns.finish(await beginFreely(turns, first), null, [], FAILED);
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => turns.begin(again(first))));
    expect(attempts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const attempt of attempts) if (attempt.status === "rejected") expect(attempt.reason).toBeInstanceOf(KeyTaken);
  });

  test("whose process died is begun again once its lease is over, or at once by the process that knows that it is", async () => {
    const first = sampleKeyed();
    const begun = await beginFreely(turns, first);
    expect(await turns.begin(again(first, { hadOutcome: false }))).toBeNull();
    const second = again(first, { hadOutcome: false, isOverHere: true });
    expect(await beginFreely(turns, second)).toMatchObject({ messageId: begun.messageId });
    await turns.renew({ ...begun, turnId: second.turnId }, EXPIRED_LEASE_MS);
    expect(await beginFreely(turns, again({ ...second, key: first.key }, { hadOutcome: false }))).toMatchObject({
      messageId: begun.messageId,
    });
    // What the dead one still says is kept as incomplete, behind the attempt that has the conversation.
    expect(await turns.finish(begun, sampleAnswer({ questionId: begun.messageId }))).toBe("superseded");
  });

  test("that has got an outcome since it was looked at is looked at again", async () => {
    const first = sampleKeyed();
    const begun = await beginFreely(turns, first);
    await turns.finish(begun, sampleAnswer());
    await expect(turns.begin(again(first, { hadOutcome: false }))).rejects.toBeInstanceOf(KeyTaken);
  });

  test("is not begun again when the conversation has gone on", async () => {
    const first = sampleKeyed();
    await turns.finish(await beginFreely(turns, first), null, [], FAILED);
    const next = await beginFreely(turns, sampleTurn({ sessionId: first.sessionId }));
    const refusal = { code: "turn_superseded", message: expect.stringMatching(/new Idempotency-Key/) };
    await expect(turns.begin(again(first))).rejects.toMatchObject(refusal);
    await turns.finish(next, null);
    await expect(turns.begin(again(first))).rejects.toMatchObject(refusal);
  });

  test("is erased with what every attempt has said", async () => {
    const first = sampleKeyed({ userId: uuidv7() });
    const begun = await beginFreely(turns, first);
    await turns.finish(begun, sampleAnswer({ completed: false, metadata: { turn_id: first.turnId } }), [], FAILED);
    const retry = again(first);
    const second = await beginFreely(turns, retry);
    await turns.finish(second, sampleAnswer({ metadata: { turn_id: retry.turnId } }));
    expect((await erases.episode(first, begun.messageId))?.erased.messages).toBe(3);
    expect(await messagesOf(second)).toEqual([]);
    expect(await records.findByKey(first, first.key.keyHash)).toBeNull();
    expect(await records.find(first, first.turnId)).toBeNull();
  });
});
