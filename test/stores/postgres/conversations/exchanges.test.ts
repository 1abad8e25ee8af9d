import { expect, jest, test, describe } from "@jest/globals";
import { toExchanges } from "../../../../stores/postgres/conversations/exchanges.ts";
import type { Imported } from "../../../../stores/postgres/conversations/import-store.ts";
import type { MessageToImport } from "../../../../stores/postgres/conversations/plan-import.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { v7 as uuidv7 } from "uuid";
import { CANCEL_CHANNEL, clearOldTurns } from "../../../../stores/postgres/turns/turn-record-store.ts";
import type { OutcomeToStore } from "../../../../stores/postgres/turns/recover-turn.ts";
import { EXPIRED_LEASE_MS, LONG_LEASE_MS, sampleAnswer, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { saidBy, summaryWithoutThought, toSaid } from "../../../../stores/postgres/conversations/said-by.ts";
import { estimateTokens } from "../../../../text/tokens.ts";

const said = (role: "user" | "assistant", content: string, time: string): MessageToImport => {
  return { role, content, createdAt: new Date(`2024-01-31T${time}Z`), metadata: {} };
};
const pair = (name: string, minute: number) => [
  said("user", name, `12:0${minute}:00`),
  said("assistant", `re ${name}`, `12:0${minute}:30`),
];
describeStores("an imported exchange", ({ imports, episodes }) => {
  const owner = { tenantId: "tenant", userId: "ada" };
  const bring = (sessionId: string, messages: MessageToImport[]) => imports.import({ ...owner, sessionId, messages, jobKinds: [] });
  const readBacklog = (conversationId: string) => episodes.readBacklog({ ...owner, conversationId }, "i", 100);
  const exchangesOf = async (conversationId: string): Promise<string[]> =>
    toExchanges((await readBacklog(conversationId)).messages).map(
      ({ asked, answer }) => `${asked?.content ?? "-"} ${answer?.content ?? "-"}`,
    );
  /** What each import came to, and the exchanges that are not indexed in the end. */
  async function bringInParts(sessionId: string, ...parts: MessageToImport[][]): Promise<{ made: number[]; exchanges: string[] }> {
    const imported: Imported[] = [];
    for (const messages of parts) imported.push(await bring(sessionId, messages));
    return { made: imported.map(({ exchanges }) => exchanges), exchanges: await exchangesOf(imported[0]?.conversationId ?? "") };
  }
  /** As if all of a conversation had been indexed, whatever it is. */
  async function indexAll({ conversationId }: Imported): Promise<void> {
    const backlog = await readBacklog(conversationId);
    const { createdAt, id } = backlog.messages.at(-1) ?? { createdAt: new Date(0), id: "" };
    const progress = { indexedThrough: { createdAt, id }, lastEpisodeId: null };
    expect(await episodes.advance({ ...owner, conversationId }, "i", backlog, progress)).toBe(true);
  }

  test("is one of a question and its answer that come in two calls, in either order", async () => {
    const [asked, answer] = [said("user", "q", "12:00:00"), said("assistant", "a", "12:01:00")];
    expect(await bringInParts("split", [asked], [answer])).toEqual({ made: [1, 1], exchanges: ["q a"] });
    expect(await bringInParts("split 2", [answer], [asked])).toEqual({ made: [1, 1], exchanges: ["q a"] });
  });

  test("pairs messages of one time by the order in which they were given, also in calls of processes whose clocks differ", async () => {
    const clock = jest.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
    await bring("skewed", [said("user", "q", "12:00:00")]);
    clock.mockRestore();
    expect(await bringInParts("skewed", [said("assistant", "a", "12:00:00")])).toEqual({ made: [1], exchanges: ["q a"] });
  });

  test("counts messages without a partner as exchanges, and keeps the pairs there are when others come between", async () => {
    const there = [said("user", "q", "12:00:00"), said("assistant", "a", "12:04:00")];
    const between = [said("assistant", "note", "12:01:00"), said("user", "more", "12:02:00"), said("user", "and more", "12:03:00")];
    const exchanges = ["q a", "- note", "more -", "and more -"];
    expect(await bringInParts("between", there, between)).toEqual({ made: [1, 3], exchanges });
  });

  test("takes no message for a live one whose metadata name a turn", async () => {
    const exported = { role: "user" as const, content: "exported", createdAt: null, metadata: { turn_id: crypto.randomUUID() } };
    expect(await bringInParts("exported", [exported])).toEqual({ made: [1], exchanges: ["exported -"] });
  });

  test("has the index go back to older ones, and go on to newer ones", async () => {
    await indexAll(await bring("reindex", [...pair("a", 1), ...pair("c", 3)]));
    expect((await bringInParts("reindex", pair("d", 4))).exchanges).toEqual(["d re d"]);
    expect((await bringInParts("reindex", pair("b", 2))).exchanges).toEqual(["b re b", "c re c", "d re d"]);
  });

  test("has the index go back to a question that was alone and gets its answer", async () => {
    await indexAll(await bring("answer", [said("user", "asked", "12:00:00")]));
    expect((await bringInParts("answer", [said("assistant", "late answer", "12:01:00")])).exchanges).toEqual(["asked late answer"]);
  });

  test("is not passed over by a reader who has read before it was there", async () => {
    const { conversationId } = await bring("late", [said("user", "second", "12:02:00")]);
    const backlog = await readBacklog(conversationId);
    await bring("late", [said("user", "first", "12:01:00")]);
    const progress = { indexedThrough: backlog.messages[0] ?? { createdAt: new Date(0), id: "" }, lastEpisodeId: null };
    expect(await episodes.advance({ ...owner, conversationId }, "i", backlog, progress)).toBe(false);
    expect(await exchangesOf(conversationId)).toEqual(["first -", "second -"]);
  });
});

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
    const state = { isHeld: true, isGone: false, attempts: 1, startedAt: expect.any(Date) };
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

const TAGGED = "<think>The user lives in Linz.</think>\n\nHello!";
describe("what a stored message says", () => {
  test.each([
    ["assistant", TAGGED, "Hello!"],
    ["assistant", "[THINK]The user lives in Linz.[/THINK]Hello!", "Hello!"],
    ["assistant", "The user lives in Linz.\n</think>\n\nHello!", "Hello!"],
    ["assistant", "<|channel|>analysis<|message|>Linz?<|end|><|start|>assistant<|channel|>final<|message|>Hello!", "Hello!"],
    ["assistant", "<think>The user lives in Linz.", ""],
    ["assistant", "Models write `<think>` and `</think>`.", "Models write `<think>` and `</think>`."],
    ["user", TAGGED, TAGGED],
  ] as const)("of the %s with %j is %j", (role, content, said) => expect(saidBy(role, content)).toBe(said));

  test("counts by what is left; a row with nothing to take out stays the same one", () => {
    const plain = { role: "assistant" as const, content: "Hello!", tokenCount: 99 };
    expect(toSaid(plain)).toBe(plain);
    expect(toSaid({ ...plain, id: "1", content: TAGGED })).toEqual({ ...plain, id: "1", tokenCount: estimateTokens("Hello!") });
  });
});
test.each([
  ["<think>What did they say?</think>\n\nThey met.", "They met."],
  ["They asked what </think> means.", "They asked what </think> means."],
  ["<think>What did they say?", "<think>What did they say?"],
  ["", ""],
])("the summary %j says %j", (stored, said) => expect(summaryWithoutThought(stored)).toBe(said));
