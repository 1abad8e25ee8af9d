import { expect, test, describe } from "@jest/globals";
import type { Imported, ImportProgress } from "../../../../stores/postgres/conversations/import-store.ts";
import { type MessageToImport, pairByOrder } from "../../../../stores/postgres/conversations/plan-import.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { EXPIRED_LEASE_MS, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { LayerJobKind } from "../../../../stores/jobs/job.ts";
import { sampleSummary } from "../../../support/databases/stored-conversation.ts";
import type { SummaryBacklog } from "../../../../stores/postgres/memory/summary-store.ts";
import fc from "fast-check";

const DAY = "2024-01-31T";
type Sent = readonly [content: string, at: string | null, externalId?: string];
/** Messages of the user and the assistant in turn. `at` is a time of day, or a whole time. */
const messagesOf = (sent: readonly Sent[]): MessageToImport[] =>
  sent.map(([content, at, externalId], number) => ({
    role: number % 2 === 0 ? "user" : "assistant",
    content,
    createdAt: at === null ? null : new Date(at.includes("T") ? at : `${DAY}${at}Z`),
    metadata: externalId === undefined ? {} : { external_id: externalId },
  }));
describeStores("an import", ({ database, imports, conversations, summaries, turns, jobsOf, messagesOf: read }) => {
  const owner = { tenantId: "tenant", userId: "ada" };
  const send = (sessionId: string, sent: readonly Sent[], jobKinds: LayerJobKind[] = ["summarise", "index_episodes"]): Promise<Imported> =>
    imports.import({ ...owner, sessionId, messages: messagesOf(sent), jobKinds });
  const stored = (conversationId: string) => read({ ...owner, conversationId });
  const contents = async (conversationId: string): Promise<string[]> => (await stored(conversationId)).map(({ content }) => content);
  const kindsOf = async (conversationId: string) => (await jobsOf(conversationId)).map(({ kind }) => kind);

  test("sorts by time, keeps those of one time in their order, and keeps their own time", async () => {
    const sent: Sent[] = [
      ["third", "12:02:00"],
      ["first", "12:00:00"],
      ["second a", "12:01:00"],
      ["second b", "12:01:00"],
      ["second c", "12:01:00"],
    ];
    const { conversationId, messageIds, ...counts } = await send("order", sent);
    expect(counts).toEqual({ imported: 5, skipped: 0, exchanges: 4 });
    expect(messageIds).toHaveLength(5);
    expect((await stored(conversationId)).map(({ content, createdAt }) => `${createdAt.toISOString().slice(11, 19)} ${content}`)).toEqual([
      "12:00:00 first",
      "12:01:00 second a",
      "12:01:00 second b",
      "12:01:00 second c",
      "12:02:00 third",
    ]);
    const text = "select message_count, last_message_at from conversations where id = $1";
    const counters = await database.query({ text, values: [conversationId] });
    expect(counters).toEqual([{ message_count: 5, last_message_at: new Date(`${DAY}12:02:00Z`) }]);
  });

  test("takes messages without a time as said now, one after the other, behind all that have one", async () => {
    const before = Date.now();
    const { conversationId } = await send("untimed", [["a", null], ["old", "12:00:00"], ["b", null], ["c", null]]); // prettier-ignore
    expect(await contents(conversationId)).toEqual(["old", "a", "b", "c"]);
    const times = (await stored(conversationId)).slice(1).map(({ createdAt }) => createdAt.getTime());
    expect(new Set(times).size).toBe(3);
    expect(times[0]).toBeGreaterThan(before - 60_000);
    expect((await send("untimed", [["d", null]])).conversationId).toBe(conversationId);
    expect((await contents(conversationId)).at(-1)).toBe("d");
  });

  test("estimates tokens, keeps metadata, skips what was imported before, by its external id, and adds no job when nothing is new", async () => {
    const sent: Sent[] = [["hello world, how are you?", "12:00:00", "1"], ["b", "12:01:00", "2"]]; // prettier-ignore
    const { conversationId } = await send("twice", sent);
    const [message] = await stored(conversationId);
    expect(message).toMatchObject({ completed: true, metadata: { external_id: "1" } });
    expect(message?.tokenCount).toBeGreaterThan(3);
    await database.query({ text: "delete from pgboss.job where data->>'conversationId' = $1", values: [conversationId] });
    expect(await send("twice", sent)).toEqual({ conversationId, imported: 0, skipped: 2, exchanges: 0, messageIds: [] });
    expect(await kindsOf(conversationId)).toEqual([]);
    expect(await conversations.find(owner, conversationId)).toMatchObject({ messageCount: 2 });
    expect(await send("twice", [...sent, ["c", "12:02:00", "3"]])).toMatchObject({ imported: 1, skipped: 2 });
    expect(await contents(conversationId)).toEqual([sent[0]?.[0], "b", "c"]);
    expect(await kindsOf(conversationId)).toEqual(["index_episodes", "summarise"]);
  });

  test("skips the second of two with the same external id in one request, also of different batches", async () => {
    const many: Sent[] = Array.from({ length: 1_200 }, (_, number) => [`m${number}`, null, `id ${number % 1_100}`]);
    expect(await send("same request", many)).toMatchObject({ imported: 1_100, skipped: 100 });
  });

  test("takes the same external id into another conversation and for another user", async () => {
    await send("ids 1", [["a", null, "same"]]);
    expect(await send("ids 2", [["a", null, "same"]])).toMatchObject({ imported: 1 });
    const messages = messagesOf([["a", null, "same"]]);
    expect(await imports.import({ ...owner, userId: "bob", sessionId: "ids 1", messages, jobKinds: [] })).toMatchObject({ imported: 1 });
  });

  test("adds one job of each kind asked for, and none of another", async () => {
    for (const content of ["a", "b"]) {
      const { conversationId } = await send("jobs", [[content, null]], ["index_episodes"]);
      expect(await kindsOf(conversationId)).toEqual(["index_episodes"]);
    }
  });

  test("is refused while a turn holds the conversation, and not when the turn's lease is over", async () => {
    const turn = sampleTurn({ ...owner, sessionId: "busy" });
    const conversationId = (await turns.begin(turn))?.conversationId ?? "";
    const refused = { code: "conversation_busy", message: expect.stringContaining('"busy"') };
    await expect(send("busy", [["a", null]])).rejects.toMatchObject(refused);
    expect(await contents(conversationId)).toEqual(["a question"]);
    await turns.renew({ ...turn, conversationId }, EXPIRED_LEASE_MS);
    expect(await send("busy", [["a", null]])).toMatchObject({ imported: 1 });
  });

  test("stores all or nothing", async () => {
    const sent: Sent[] = Array.from({ length: 600 }, (_, number) => [number === 550 ? "\0" : `m${number}`, null]);
    await expect(send("all or nothing", sent)).rejects.toThrow();
    expect(await database.query({ text: "select from conversations where session_id = 'all or nothing'" })).toEqual([]);
  });

  test("tells its progress up to the last message, to those who listen while it is at work", async () => {
    const told: number[] = [];
    const onProgress = ({ done }: ImportProgress): void => void setImmediate(() => told.push(done));
    const messages = messagesOf(Array.from({ length: 1_001 }, (_, number): Sent => [`m${number}`, null]));
    await imports.import({ ...owner, sessionId: "progress", messages, jobKinds: [], onProgress });
    expect(told).toEqual([500, 1_000, 1_001]);
  });

  test("keeps a message of the future from making later ones go back in time", async () => {
    const future = "2090-01-01T00:00:00Z";
    const { conversationId } = await send("future", [["from the future", future]]);
    await turns.begin(sampleTurn({ ...owner, sessionId: "future", message: "live" }));
    expect(await contents(conversationId)).toEqual(["from the future", "live"]);
    expect((await stored(conversationId))[1]?.createdAt.getTime()).toBeGreaterThan(Date.parse(future));
  });

  /** What a summariser saves that has read this. */
  const summaryOf = ({ summary, messages, rewrites }: SummaryBacklog) => {
    const { createdAt = new Date(0), id = "" } = messages.at(-1) ?? {};
    const read = { readVersion: summary?.version ?? 0, addedMessageCount: messages.length, rewrites };
    return sampleSummary({ createdAt, id }, { ...read, text: "all" });
  };

  test("of messages before the cover point has the summary cover nothing, at a version that still rises", async () => {
    const { conversationId } = await send("older", [["a", "12:00:00"], ["b", "12:01:00"], ["c", "12:02:00"]]); // prettier-ignore
    const conversation = { ...owner, conversationId };
    const first = summaryOf(await summaries.readBacklog(conversation, 2));
    expect(await summaries.save(conversation, first)).toBe(true);

    await send("older", [["later", "12:03:00"]]);
    expect(await summaries.find(conversation)).toMatchObject({ version: 1, text: "all", coveredMessageCount: 2 });

    await send("older", [["older", "11:00:00"]]);
    const { summary, messages, rewrites } = await summaries.readBacklog(conversation, 3);
    expect(summary).toMatchObject({ version: 2, text: "", coveredMessageCount: 0 });
    expect(messages.map(({ content }) => content)).toEqual(["older", "a", "b"]);
    // A summary that was being written from version 1 is not saved; the one from the beginning is.
    expect(await summaries.save(conversation, { ...first, readVersion: 1, rewrites })).toBe(false);
    expect(await summaries.save(conversation, { ...first, readVersion: 2 })).toBe(false);
    expect(await summaries.save(conversation, summaryOf({ summary, messages, rewrites, isSaturated: false }))).toBe(true);
    expect(await summaries.find(conversation)).toMatchObject({ version: 3, coveredMessageCount: 3 });
  });

  test("has a first summary that is being written not saved; one of messages that were there already does not", async () => {
    const { conversationId } = await send("meanwhile", [["a", "12:00:00", "id a"], ["c", "12:02:00"]]); // prettier-ignore
    const conversation = { ...owner, conversationId };
    const before = await summaries.readBacklog(conversation, 100);
    await send("meanwhile", [["b", "12:01:00"]]);
    expect(await summaries.save(conversation, summaryOf(before))).toBe(false);
    expect(await summaries.find(conversation)).toBeNull();
    const after = await summaries.readBacklog(conversation, 100);
    expect(await send("meanwhile", [["a", "12:00:00", "id a"]])).toMatchObject({ imported: 0, skipped: 1 });
    expect(await summaries.save(conversation, summaryOf(after))).toBe(true);
    expect(await summaries.find(conversation)).toMatchObject({ version: 1, coveredMessageCount: 3 });
  });

  test("of two at once with the same ids stores each message once", async () => {
    const sent: Sent[] = Array.from({ length: 20 }, (_, number) => [`m${number}`, `12:00:${10 + number}`, `id ${number}`]);
    const both = await Promise.all([send("at once", sent), send("at once", sent)]);
    expect(both.map(({ imported }) => imported).sort()).toEqual([0, 20]);
    expect(await contents(both[0]?.conversationId ?? "")).toHaveLength(20);
  });
});

/** Messages from a line of u and a, and of x for one that is not free, numbered from 0; pairs come back as "01", "34". */
function pairsOf(line: string): string[] {
  const messages = [...line].map((letter, number) => {
    return { id: String(number), role: letter === "a" ? ("assistant" as const) : ("user" as const), isFree: letter !== "x" };
  });
  return pairByOrder(messages).map((pair) => pair.join(""));
}
describe("pairByOrder", () => {
  test.each([
    ["nothing", "", []],
    ["a question", "u", []],
    ["an answer before its question", "au", []],
    ["a question and its answer", "ua", ["01"]],
    ["runs of several", "aauaaua", ["23", "56"]],
    ["two questions whose times cross those of their answers", "uuaa", ["02", "13"]],
    ["the last of several questions with one answer", "uuua", ["23"]],
    ["the first of several answers with one question", "uaaa", ["01"]],
    ["the last two of three questions", "uuuaa", ["13", "24"]],
    ["nobody across a message that is not free", "uxa", []],
    ["those behind a message that is not free", "uxua", ["23"]],
    ["those before a message that is not free", "uaxa", ["01"]],
  ])("pairs %s", (_name, line, pairs) => expect(pairsOf(line)).toEqual(pairs));

  test("property: every pair is a question and a later answer, and each message is in one pair at most", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[uax]{0,9}$/), (line) => {
        const places = pairsOf(line).map((pair) => [...pair].map(Number));
        for (const [asked = 0, answer = 0] of places) {
          expect([line[asked], line[answer]]).toEqual(["u", "a"]);
          expect(asked).toBeLessThan(answer);
        }
        expect(new Set(places.flat()).size).toBe(2 * places.length);
      }),
    );
  });
});
