import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { AppError } from "../../../../errors/app-error.ts";
import { withLease } from "../../../../stores/postgres/turns/turn-lease.ts";
import type { HeldTurn, BegunTurn, BeginTurn } from "../../../../stores/postgres/turns/recover-turn.ts";
import type { TurnStore } from "../../../../stores/postgres/turns/turn-store.ts";
import { makeFakeTurnStore } from "../../../nodes/fake-turn-store.ts";
import { v7 as uuidv7 } from "uuid";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { EXPIRED_LEASE_MS, sampleAnswer } from "../../../support/samples/sample-turns.ts";

const HELD: HeldTurn = { tenantId: "tenant", userId: "user", conversationId: "conversation", turnId: "turn" };
const LEASE_MS = 3_000;
/** Work under a lease that lasts until `finish` is called or its signal aborts, and gives the reason of that. */
function longWork(renew?: TurnStore["renew"], cancelled?: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const turns = makeFakeTurnStore(renew ? { renew } : {});
  const ended = withLease({ turns, leaseMs: LEASE_MS }, HELD, cancelled, (signal) => {
    if (signal.aborted) return Promise.resolve(signal.reason as unknown);
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
    return promise;
  });
  return { finish: resolve, ended };
}
describe("withLease", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("renews three times per lease while the work lasts, also after a failed renewal, and not a moment longer", async () => {
    const renewals: [HeldTurn, number][] = [];
    const { finish, ended } = longWork(async (held, leaseMs) => {
      if (renewals.push([held, leaseMs]) % 2 === 1) throw new AppError("storage_unavailable", "gone");
      return true;
    });
    await jest.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(renewals).toEqual(Array.from({ length: 6 }, () => [HELD, LEASE_MS]));
    finish("an answer");
    expect(await ended).toBe("an answer");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("ends the work with turn_superseded when the lease was lost", async () => {
    const { ended } = longWork(async () => false);
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    const reason = await ended;
    expect(reason).toBeInstanceOf(AppError);
    expect(reason).toMatchObject({ code: "turn_superseded", retryable: true });
  });

  test("ends the work with turn_cancelled when a renewal says that another process stops the turn", async () => {
    const stop = new AppError("turn_cancelled", "stopped elsewhere");
    const { ended } = longWork(() => Promise.reject(stop));
    await jest.advanceTimersByTimeAsync(LEASE_MS / 3);
    expect(await ended).toBe(stop);
  });

  test("ends the work with the caller's reason when the caller cancels, also before it began", async () => {
    const reason = new AppError("turn_cancelled", "stopped");
    const cancellation = new AbortController();
    const { ended } = longWork(undefined, cancellation.signal);
    cancellation.abort(reason);
    expect(await ended).toBe(reason);
    expect(await longWork(undefined, cancellation.signal).ended).toBe(reason);
  });

  test("stops renewing when the work fails, and throws its error", async () => {
    const failure = new Error("broken");
    const ended = withLease({ turns: makeFakeTurnStore({}), leaseMs: LEASE_MS }, HELD, undefined, () => Promise.reject(failure));
    await expect(ended).rejects.toBe(failure);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describeStores("a turn that goes on with the last answer", (stores) => {
  const { turns, erases, summaries, database, messagesOf, contentsOf, messageCountOf, jobsOf, begin, complete } = stores;
  const goOn = (first: BeginTurn, fields: Partial<BeginTurn> = {}) =>
    begin({ ...first, turnId: uuidv7(), continues: "an answer", ...fields });
  const grown = ({ messageId, continued }: BegunTurn, content = "an answer and more") =>
    sampleAnswer({ messageId: continued?.answerId ?? "", userMessageId: messageId, grows: true, content });

  test("stores no message, knows question and answer, and makes that answer longer, once", async () => {
    const first = await complete({ message: "why?" });
    const before = await messagesOf(first);
    const held = await goOn(first);
    expect(held).toMatchObject({ conversationId: first.conversationId, messageId: first.messageId });
    expect(held.continued).toEqual({ answerId: before[1]?.id, question: "why?", text: "an answer", completed: true, citations: [] });
    const { continued, conversationId, messageId } = held;
    expect(await turns.findBegun(held)).toEqual({ conversationId, messageId, continued: expect.objectContaining(continued ?? {}) });
    expect(await turns.begin({ ...held, turnId: uuidv7() })).toBeNull();
    const { tenantId, userId } = held;
    const job = { kind: "index_episodes" as const, tenantId, userId, conversationId };
    expect(await turns.finish(held, grown(held), [job])).toBe("stored");
    const after = await messagesOf(first);
    expect(after.map(({ id, content }) => [id, content])).toEqual([
      [first.messageId, "why?"],
      [before[1]?.id, "an answer and more"],
    ]);
    expect(after[1]?.createdAt.getTime()).toBeGreaterThan(before[1]?.createdAt.getTime() ?? Infinity);
    expect([await messageCountOf(first), await jobsOf(conversationId)]).toEqual([2, [job]]);
    expect(await turns.finish(held, grown(held, "another"), [job])).toBe("stored");
    expect(await messagesOf(first)).toEqual(after);
  });

  test("that another turn has overtaken leaves the answer as it is", async () => {
    const first = await complete();
    const late = await goOn(first, { leaseMs: EXPIRED_LEASE_MS });
    const current = await begin({ sessionId: first.sessionId, message: "next" });
    const ended = { outcome: { completed: true }, ifSuperseded: { completed: false } };
    const finish = () => turns.finish(late, grown(late), [], ended);
    expect([await finish(), await finish()]).toEqual(["superseded", "superseded"]);
    expect(await contentsOf(first)).toEqual(["a question", "an answer", "next"]);
    expect(await turns.finish(current, sampleAnswer())).toBe("stored");
    expect(await messageCountOf(first)).toBe(4);
  });

  test("that got no answer frees the conversation and leaves everything as it was", async () => {
    const first = await complete();
    const before = await messagesOf(first);
    await turns.finish(await goOn(first), null, [], { outcome: { completed: false }, ifSuperseded: {} });
    const [, answer] = await messagesOf(first);
    expect(answer).toEqual(before[1]);
    await turns.finish(await goOn(first), null);
  });

  test("is erased with its exchange", async () => {
    const first = await complete({ userId: uuidv7() });
    const held = await goOn(first);
    await turns.finish(held, grown(held));
    expect((await erases.episode(first, first.messageId))?.erased.messages).toBe(2);
    expect([await messagesOf(first), await messageCountOf(first)]).toEqual([[], 0]);
  });

  test("has a summary that covers the answer made anew", async () => {
    const first = await complete();
    const last = (await messagesOf(first))[1];
    const { rewrites } = await summaries.readBacklog(first, 10);
    const covered = { coveredThrough: { createdAt: last?.createdAt ?? new Date(0), id: last?.id ?? "" }, addedMessageCount: 2 };
    expect(await summaries.save(first, { readVersion: 0, text: "half", tokenCount: 1, rewrites, ...covered })).toBe(true);
    const held = await goOn(first);
    await turns.finish(held, grown(held));
    expect((await summaries.readBacklog(first, 10)).summary).toMatchObject({ text: "", coveredMessageCount: 0 });
    expect((await jobsOf(first.conversationId)).map(({ kind }) => kind)).toEqual(["summarise"]);
  });

  test.each([
    ["another text", { continues: "another answer" }],
    ["the beginning of a whole answer", { continues: "an" }],
    ["no text", { continues: "" }],
    ["another user", { userId: "another" }],
    ["another tenant", { tenantId: "another" }],
    ["another session", { sessionId: "another" }],
  ])("is refused with %s, and holds nothing", async (_what, fields) => {
    const first = await complete();
    await expect(goOn(first, fields)).rejects.toMatchObject({ code: "invalid_request" });
    expect(await contentsOf(await begin({ sessionId: first.sessionId, message: "free" }))).toEqual(["a question", "an answer", "free"]);
  });

  test("is refused when the last message is a question, or was imported", async () => {
    const unanswered = await complete({}, null);
    await expect(goOn(unanswered)).rejects.toMatchObject({ code: "invalid_request" });
    const owner = { tenantId: "tenant", userId: "user", sessionId: uuidv7() };
    const message = (role: "user" | "assistant", content: string, second: number) => ({
      role,
      content,
      createdAt: new Date(second * 1_000),
      metadata: { turn_id: uuidv7() },
    });
    const messages = [message("user", "a question", 1), message("assistant", "an answer", 2)];
    await stores.imports.import({ ...owner, messages, jobKinds: [] });
    await expect(begin({ ...owner, continues: "an answer" })).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("goes on from what its reader has seen of an answer that was cut short, with or without blanks at its ends", async () => {
    const cut = await complete({}, sampleAnswer({ content: "an answer \n", completed: false }));
    expect((await goOn(cut, { leaseMs: EXPIRED_LEASE_MS })).continued?.text).toBe("an answer \n");
    expect((await goOn(cut, { continues: "an ans" })).continued).toMatchObject({ text: "an ans", completed: false });
    expect(await database.query({ text: "select from messages where conversation_id = $1", values: [cut.conversationId] })).toHaveLength(2);
  });
});
