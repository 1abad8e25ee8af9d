import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import {
  makeImportStore,
  type Imported,
  type ImportProgress,
  type ImportStore,
} from "../../../../stores/postgres/conversations/import-store.ts";
import { makeSummaryStore, type SummaryBacklog } from "../../../../stores/postgres/memory/summary-store.ts";
import { makeTurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { EXPIRED_LEASE_MS, sampleTurn } from "../../../support/samples/sample-turns.ts";
import type { MessageToImport } from "../../../../stores/postgres/conversations/plan-import.ts";

const JOB_KINDS = ["summarise", "index_episodes"] as const;
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

describeOnBothDatabases("import store", (open) => {
  let database: Database;
  let imports: ImportStore;
  beforeAll(async () => {
    database = await open();
    imports = makeImportStore(database);
  });
  afterAll(() => database.close());

  const owner = { tenantId: "tenant", userId: "ada" };
  const send = (sessionId: string, sent: readonly Sent[], jobKinds: readonly (typeof JOB_KINDS)[number][] = JOB_KINDS): Promise<Imported> =>
    imports.import({ ...owner, sessionId, messages: messagesOf(sent), jobKinds });

  async function stored(conversationId: string): Promise<{ content: string; role: string; created_at: Date; id: string }[]> {
    const text = "select id, role, content, created_at from messages where conversation_id = $1 order by created_at, id";
    return database.query({ text, values: [conversationId] });
  }
  const contents = async (conversationId: string): Promise<string[]> => (await stored(conversationId)).map(({ content }) => content);

  async function jobsOf(conversationId: string): Promise<string[]> {
    const text = "select data->>'kind' as kind from pgboss.job where data->>'conversationId' = $1 order by 1";
    return (await database.query<{ kind: string }>({ text, values: [conversationId] })).map(({ kind }) => kind);
  }

  async function counters(conversationId: string): Promise<{ message_count: number; last_message_at: Date } | undefined> {
    const text = "select message_count, last_message_at from conversations where id = $1";
    return (await database.query<{ message_count: number; last_message_at: Date }>({ text, values: [conversationId] }))[0];
  }

  test("sorts by time, keeps those of one time in their order, and keeps their own time", async () => {
    const sent: Sent[] = [
      ["third", "12:02:00"],
      ["first", "12:00:00"],
      ["second a", "12:01:00"],
      ["second b", "12:01:00"],
      ["second c", "12:01:00"],
    ];
    const { conversationId, ...counts } = await send("order", sent);
    expect(counts).toEqual({ imported: 5, skipped: 0, exchanges: 4 });
    expect(await contents(conversationId)).toEqual(["first", "second a", "second b", "second c", "third"]);
    expect((await stored(conversationId)).map(({ created_at }) => created_at.toISOString().slice(11, 19))).toEqual([
      "12:00:00",
      "12:01:00",
      "12:01:00",
      "12:01:00",
      "12:02:00",
    ]);
    expect(await counters(conversationId)).toEqual({ message_count: 5, last_message_at: new Date(`${DAY}12:02:00Z`) });
  });

  test("takes those without a time as said now, one after the other, behind all that have one", async () => {
    const before = Date.now();
    const { conversationId } = await send("untimed", [["a", null], ["old", "12:00:00"], ["b", null], ["c", null]]); // prettier-ignore
    expect(await contents(conversationId)).toEqual(["old", "a", "b", "c"]);
    const times = (await stored(conversationId)).slice(1).map(({ created_at }) => created_at.getTime());
    expect(new Set(times).size).toBe(3);
    expect(times[0]).toBeGreaterThan(before - 60_000);
    const again = await send("untimed", [["d", null]]);
    expect(again.conversationId).toBe(conversationId);
    expect((await contents(conversationId)).at(-1)).toBe("d");
  });

  test("estimates the tokens of each message and marks it completed, with its metadata", async () => {
    const { conversationId } = await send("fields", [["hello world, how are you?", "12:00:00", "x"]]);
    const text = "select completed, token_count, metadata from messages where conversation_id = $1";
    const [row] = await database.query<{ token_count: number }>({ text, values: [conversationId] });
    expect(row).toEqual({ completed: true, token_count: expect.any(Number), metadata: { external_id: "x" } });
    expect(row?.token_count).toBeGreaterThan(3);
  });

  test("skips what was imported before, by its external id, and adds no job when nothing is new", async () => {
    const sent: Sent[] = [["a", "12:00:00", "1"], ["b", "12:01:00", "2"]]; // prettier-ignore
    const { conversationId } = await send("twice", sent);
    await database.query({ text: "delete from pgboss.job where data->>'conversationId' = $1", values: [conversationId] });
    expect(await send("twice", sent)).toEqual({ conversationId, imported: 0, skipped: 2, exchanges: 0 });
    expect(await jobsOf(conversationId)).toEqual([]);
    expect(await counters(conversationId)).toMatchObject({ message_count: 2 });
    expect(await send("twice", [...sent, ["c", "12:02:00", "3"]])).toMatchObject({ imported: 1, skipped: 2 });
    expect(await contents(conversationId)).toEqual(["a", "b", "c"]);
    expect(await jobsOf(conversationId)).toEqual(["index_episodes", "summarise"]);
  });

  test("skips the second of two with the same external id in one request, also of different batches", async () => {
    const many: Sent[] = Array.from({ length: 1_200 }, (_, number) => [`m${number}`, null, `id ${number % 1_100}`]);
    expect(await send("same request", many)).toMatchObject({ imported: 1_100, skipped: 100 });
    expect(await send("same request 2", [["a", null, "x"], ["b", null, "x"]])).toMatchObject({ imported: 1, skipped: 1 }); // prettier-ignore
  });

  test("imports the same external id into another conversation and for another user", async () => {
    await send("ids 1", [["a", null, "same"]]);
    expect(await send("ids 2", [["a", null, "same"]])).toMatchObject({ imported: 1 });
    const other = { tenantId: "tenant", userId: "bob", sessionId: "ids 1", messages: messagesOf([["a", null, "same"]]), jobKinds: [] };
    expect(await imports.import(other)).toMatchObject({ imported: 1 });
  });

  test("adds one job of each kind asked for, and none of another", async () => {
    const { conversationId } = await send("jobs", [["a", null]], ["index_episodes"]);
    expect(await jobsOf(conversationId)).toEqual(["index_episodes"]);
    await send("jobs", [["b", null]], ["index_episodes"]);
    expect(await jobsOf(conversationId)).toEqual(["index_episodes"]);
  });

  test("is refused while a turn holds the conversation, and not when the turn's lease is over", async () => {
    const turns = makeTurnStore(database);
    const turn = sampleTurn({ ...owner, sessionId: "busy" });
    const begun = await turns.begin(turn);
    const refused = { code: "conversation_busy", message: expect.stringContaining('"busy"') };
    await expect(send("busy", [["a", null]])).rejects.toMatchObject(refused);
    expect(await contents(begun?.conversationId ?? "")).toEqual(["a question"]);
    await turns.renew({ ...turn, conversationId: begun?.conversationId ?? "" }, EXPIRED_LEASE_MS);
    expect(await send("busy", [["a", null]])).toMatchObject({ imported: 1 });
  });

  test("stores all or nothing", async () => {
    const sent: Sent[] = Array.from({ length: 600 }, (_, number) => [number === 550 ? "\0" : `m${number}`, null]);
    await expect(send("all or nothing", sent)).rejects.toThrow();
    const text = "select from conversations where session_id = 'all or nothing'";
    expect(await database.query({ text })).toEqual([]);
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
    const turns = makeTurnStore(database);
    const begun = await turns.begin(sampleTurn({ ...owner, sessionId: "future", turnId: crypto.randomUUID(), message: "live" }));
    expect(begun?.conversationId).toBe(conversationId);
    await send("future 2", [["x", null]]);
    expect(await contents(conversationId)).toEqual(["from the future", "live"]);
    expect((await stored(conversationId))[1]?.created_at.getTime()).toBeGreaterThan(Date.parse(future));
  });

  test("of messages before the cover point has the summary cover nothing, at a version that still rises", async () => {
    const { conversationId } = await send("older", [["a", "12:00:00"], ["b", "12:01:00"], ["c", "12:02:00"]]); // prettier-ignore
    const conversation = { ...owner, conversationId };
    const summaries = makeSummaryStore(database);
    const [, second] = await stored(conversationId);
    const coveredThrough = { createdAt: second?.created_at ?? new Date(0), id: second?.id ?? "" };
    const { rewrites } = await summaries.readBacklog(conversation, 100);
    const saved = { readVersion: 0, text: "a and b", tokenCount: 3, coveredThrough, addedMessageCount: 2, rewrites };
    expect(await summaries.save(conversation, saved)).toBe(true);

    await send("older", [["later", "12:03:00"]]);
    expect(await summaries.find(conversation)).toMatchObject({ version: 1, text: "a and b", coveredMessageCount: 2 });

    await send("older", [["older", "11:00:00"]]);
    const { summary, messages, rewrites: now } = await summaries.readBacklog(conversation, 100);
    expect(summary).toMatchObject({ version: 2, text: "", coveredMessageCount: 0 });
    expect(messages.map(({ content }) => content)).toEqual(["older", "a", "b", "c", "later"]);
    // A summary that was being written from version 1 is not saved; the one from the beginning is.
    expect(await summaries.save(conversation, { ...saved, readVersion: 1, rewrites: now })).toBe(false);
    expect(await summaries.save(conversation, { ...saved, readVersion: 2 })).toBe(false);
    expect(await summaries.save(conversation, { ...saved, readVersion: 2, addedMessageCount: 3, rewrites: now })).toBe(true);
    expect(await summaries.find(conversation)).toMatchObject({ version: 3, coveredMessageCount: 3 });
  });

  test("has a summary that is being written, also a first one, not saved; one of messages that were there already does not", async () => {
    const { conversationId } = await send("meanwhile", [["a", "12:00:00", "id a"], ["c", "12:02:00"]]); // prettier-ignore
    const conversation = { ...owner, conversationId };
    const summaries = makeSummaryStore(database);
    const save = ({ messages, rewrites }: SummaryBacklog): Promise<boolean> => {
      const { createdAt = new Date(0), id = "" } = messages.at(-1) ?? {};
      const coveredThrough = { createdAt, id };
      return summaries.save(conversation, {
        readVersion: 0,
        text: "all",
        tokenCount: 1,
        coveredThrough,
        addedMessageCount: messages.length,
        rewrites,
      });
    };
    const before = await summaries.readBacklog(conversation, 100);
    await send("meanwhile", [["b", "12:01:00"]]);
    expect(await save(before)).toBe(false);
    expect(await summaries.find(conversation)).toBeNull();
    const after = await summaries.readBacklog(conversation, 100);
    expect(await send("meanwhile", [["a", "12:00:00", "id a"]])).toMatchObject({ imported: 0, skipped: 1 });
    expect(await save(after)).toBe(true);
    expect(await summaries.find(conversation)).toMatchObject({ version: 1, coveredMessageCount: 3 });
  });

  test("of two at once with the same ids stores each message once", async () => {
    const sent: Sent[] = Array.from({ length: 20 }, (_, number) => [`m${number}`, `12:00:${10 + number}`, `id ${number}`]);
    const both = await Promise.all([send("at once", sent), send("at once", sent)]);
    expect(both.map(({ imported }) => imported).sort()).toEqual([0, 20]);
    expect(await contents(both[0]?.conversationId ?? "")).toHaveLength(20);
  });
});
