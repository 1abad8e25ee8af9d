import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, expect, jest, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../turn/owner.ts";
import { toExchanges, firstMessageOf } from "../../../../stores/postgres/conversations/exchanges.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { decided, endOf, readNext } from "../../../support/samples/sample-reading.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const NOTHING = decided();

describeStores("what the memory agent has not read", ({ database, unread, imports, erases, begin, ...stores }) => {
  let owner: Owner;
  beforeEach(() => {
    owner = { tenantId: "tenant", userId: uuidv7() };
  });

  const turn = (message: string, sessionId = "session") => ({ ...owner, sessionId, message });
  const complete = (question: string, answer: string, sessionId?: string) =>
    stores.complete(turn(question, sessionId), sampleAnswer({ content: answer, metadata: { turn_id: uuidv7() } }));
  const cutShort = (question: string, sessionId?: string) =>
    stores.complete(turn(question, sessionId), sampleAnswer({ content: "half an ans", completed: false }));
  const look = (fields: Partial<Owner> = {}) =>
    database.transaction((transaction) => unread.lockAndCheck(transaction, { ...owner, ...fields }));
  const contents = async (limit?: number): Promise<string[]> =>
    (await readNext(unread, owner, limit)).messages.map(({ content }) => content);
  /** Reads and saves, as the agent's job does, until nothing is left; the questions it has decided on. */
  async function readAll(limit: number): Promise<string[]> {
    const asked: string[] = [];
    for (let steps = 0; steps < 30; steps++) {
      const read = await unread.next(owner, limit);
      if (!read) return asked;
      const exchanges = toExchanges(read.messages).filter(({ anchor }) => !anchor.isKnown);
      asked.push(...exchanges.map((exchange) => firstMessageOf(exchange).content));
      expect(await unread.save(owner, read, endOf(read), NOTHING)).toBe("saved");
    }
    throw new Error("something stays unread for ever");
  }
  function importAll(count: number, at: (number: number) => Date, sessionId = "session") {
    const messages = Array.from({ length: count }, (_, index) => {
      const role = index % 2 === 0 ? ("user" as const) : ("assistant" as const);
      return { role, content: `${role === "user" ? "q" : "a"}${Math.floor(index / 2)}`, createdAt: at(index), metadata: {} };
    });
    return imports.import({ ...owner, sessionId, messages, jobKinds: [] });
  }

  test("is nothing of a user who is not known, whose turn runs, or whose answers were all cut short", async () => {
    expect(await unread.next(owner, 40)).toBeNull();
    expect(await look()).toBe(false);
    await cutShort("q1");
    await begin(turn("q2"));
    expect(await unread.next(owner, 40)).toBeNull();
    expect(await look()).toBe(false);
  });

  test("has the messages of completed turns as they were said, oldest first", async () => {
    const first = await complete("q1", "a1");
    await complete("q2", "a2");
    const read = await readNext(unread, owner);
    expect(read).toMatchObject({ conversationId: first.conversationId, readThrough: null });
    const messages = read.messages.map(({ role, content, imported }) => `${role} ${content} ${imported}`);
    expect(messages).toEqual(["user q1 false", "assistant a1 false", "user q2 false", "assistant a2 false"]);
    expect(read.messages[0]).toMatchObject({ id: first.messageId, createdAt: expect.any(Date) });
    expect(await look()).toBe(true);
  });

  test("never has an answer that was cut short, and its question is in no turn", async () => {
    await complete("q1", "a1");
    await cutShort("q2");
    await complete("q3", "a3");
    await cutShort("q4");
    await begin(turn("q5"));
    const { messages } = await readNext(unread, owner);
    expect(messages.map(({ content }) => content)).not.toContain("half an ans");
    expect(toExchanges(messages).map(({ asked, answer }) => `${asked?.content} ${answer?.content}`)).toEqual(["q1 a1", "q3 a3"]);
  });

  test("begins behind what was read, and has no more than it is asked for", async () => {
    for (const number of [1, 2, 3]) await complete(`q${number}`, `a${number}`);
    const read = await readNext(unread, owner, 2);
    expect(read.messages.map(({ content }) => content)).toEqual(["q1", "a1"]);
    await unread.save(owner, read, endOf(read), NOTHING);
    const next = await readNext(unread, owner);
    expect(next.messages.map(({ content }) => content)).toEqual(["q2", "a2", "q3", "a3"]);
    expect(next.readThrough).toEqual(endOf(read));
    await unread.save(owner, next, endOf(next), NOTHING);
    expect(await unread.next(owner, 40)).toBeNull();
    expect(await look()).toBe(false);
  });

  test("takes the conversation first that has waited longest since its last message", async () => {
    // Messages of two conversations may have the same millisecond: only within one does `created_at` always rise.
    for (const [question, session] of Object.entries({ first: "one", second: "two", third: "three", fourth: "one" })) {
      await complete(question, "a", session);
      await pause(5);
    }
    expect(await contents()).toEqual(["second", "a"]);
    expect(await readAll(40)).toEqual(["second", "third", "first", "fourth"]);
  });

  test("passes over questions without an answer, however many, and goes on to other conversations", async () => {
    await complete("q0", "a0", "one");
    expect(await readAll(40)).toEqual(["q0"]);
    for (let number = 1; number <= 7; number++) await cutShort(`q${number}`, "one");
    await complete("q8", "a8", "two");
    expect(await readAll(4)).toEqual(["q8"]);
    await complete("q9", "a9", "one");
    expect(await readAll(4)).toEqual(["q9"]);
    expect(await look()).toBe(false);
  });

  test("is nothing to another owner, nor after an erase of the conversation", async () => {
    const { conversationId } = await complete("q1", "a1");
    const isUnread = async (fields: Partial<Owner> = {}) => [await unread.next({ ...owner, ...fields }, 40), await look(fields)];
    for (const fields of [{ tenantId: "other" }, { userId: "other" }, { userId: "" }])
      expect(await isUnread(fields)).toEqual([null, false]);
    await erases.conversation({ ...owner, conversationId });
    expect(await isUnread()).toEqual([null, false]);
  });

  test("tells what was imported from what was said here, with its own time", async () => {
    await importAll(2, (number) => new Date(Date.UTC(2020, 0, 1, 12, number)));
    const { messages } = await readNext(unread, owner);
    const told = messages.map(({ content, imported, createdAt }) => `${content} ${imported} ${createdAt.toISOString()}`);
    expect(told).toEqual(["q0 true 2020-01-01T12:00:00.000Z", "a0 true 2020-01-01T12:01:00.000Z"]);
  });

  test("goes back to messages that were imported in between", async () => {
    const at = (hour: number) => (number: number) => new Date(Date.UTC(2020, 0, 1, hour, number));
    await importAll(6, at(12));
    expect(await readAll(40)).toEqual(["q0", "q1", "q2"]);
    await importAll(2, () => new Date(Date.UTC(2020, 0, 1, 12, 3, 30)));
    expect((await contents()).slice(0, 3)).toEqual(["q0", "a0", "q2"]);
    expect(await look()).toBe(true);
  });

  test("gives turns once, whatever the clocks of the processes that stored them say, also after an import of older messages", async () => {
    const clock = jest.spyOn(Date, "now");
    const now = Date.now();
    const inProcess = (hoursAhead: number) => void clock.mockReturnValue(now + hoursAhead * 3_600_000);
    inProcess(2);
    await complete("ahead", "a");
    inProcess(-2);
    await complete("behind", "a");
    expect(await readAll(40)).toEqual(["ahead", "behind"]);
    inProcess(0);
    await importAll(2, () => new Date(Date.UTC(2020, 0, 1)));
    inProcess(-3);
    await importAll(2, () => new Date(Date.UTC(2019, 0, 1)));
    clock.mockRestore();
    expect(await readAll(3)).toEqual(["q0", "q0"]);
  });

  test("has messages that were imported while others were decided on: such a reading is stale", async () => {
    await importAll(2, () => new Date(Date.UTC(2020, 0, 1, 12)));
    const read = await readNext(unread, owner);
    await importAll(1, () => new Date(Date.UTC(2020, 0, 1, 11)));
    expect(await unread.save(owner, read, endOf(read), NOTHING)).toBe("stale");
    expect(await readAll(40)).toEqual(["q0", "q0"]);
  });

  test("has what is left of messages of one and the same time", async () => {
    await importAll(6, () => new Date(Date.UTC(2020, 0, 1)));
    expect(await readAll(2)).toEqual(["q0", "q1", "q2"]);
  });
});
