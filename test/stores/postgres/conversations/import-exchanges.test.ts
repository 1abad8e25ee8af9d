import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeEpisodeStore } from "../../../../stores/postgres/memory/episode-store.ts";
import { toExchanges } from "../../../../stores/postgres/conversations/exchanges.ts";
import { makeImportStore, type ImportStore } from "../../../../stores/postgres/conversations/import-store.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import type { MessageToImport } from "../../../../stores/postgres/conversations/plan-import.ts";

describeOnBothDatabases("exchanges of imported messages", (open) => {
  let database: Database;
  let imports: ImportStore;
  beforeAll(async () => {
    database = await open();
    imports = makeImportStore(database);
  });
  afterAll(() => database.close());

  const owner = { tenantId: "tenant", userId: "ada" };
  /** What each import came to, and the exchanges that the conversation has in the end. */
  async function bringInParts(sessionId: string, ...parts: MessageToImport[][]): Promise<{ made: number[]; exchanges: string[] }> {
    const made: number[] = [];
    let conversationId = "";
    for (const messages of parts) {
      const imported = await imports.import({ ...owner, sessionId, messages, jobKinds: [] });
      made.push(imported.exchanges);
      conversationId = imported.conversationId;
    }
    const { messages } = await makeEpisodeStore(database).readBacklog({ ...owner, conversationId }, "i", 100);
    return { made, exchanges: toExchanges(messages).map(({ asked, answer }) => `${asked?.content ?? "-"} ${answer?.content ?? "-"}`) };
  }
  const said = (role: "user" | "assistant", content: string, time: string): MessageToImport => {
    return { role, content, createdAt: new Date(`2024-01-31T${time}Z`), metadata: {} };
  };

  test("makes one exchange of a question and its answer that come in two calls, in either order", async () => {
    const [asked, answer] = [said("user", "q", "12:00:00"), said("assistant", "a", "12:01:00")];
    expect(await bringInParts("split", [asked], [answer])).toEqual({ made: [1, 1], exchanges: ["q a"] });
    expect(await bringInParts("split 2", [answer], [asked])).toEqual({ made: [1, 1], exchanges: ["q a"] });
  });

  test("pairs messages of one time by the order in which they were given, also in calls of processes whose clocks differ", async () => {
    const at = "12:00:00";
    const [first, second] = [[said("user", "q", at)], [said("assistant", "a", at)]];
    const clock = jest.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_000);
    await imports.import({ ...owner, sessionId: "skewed", messages: first, jobKinds: [] });
    clock.mockRestore();
    expect(await bringInParts("skewed", second)).toEqual({ made: [1], exchanges: ["q a"] });
  });

  test("counts messages without a partner as exchanges, and keeps the pairs there are when others come between", async () => {
    const pair = [said("user", "q", "12:00:00"), said("assistant", "a", "12:04:00")];
    const between = [said("assistant", "note", "12:01:00"), said("user", "more", "12:02:00"), said("user", "and more", "12:03:00")];
    const { made, exchanges } = await bringInParts("between", pair, between);
    expect(made).toEqual([1, 3]);
    expect(exchanges).toEqual(["q a", "- note", "more -", "and more -"]);
  });

  test("does not take a message for a live one whose metadata name a turn", async () => {
    const exported = { role: "user" as const, content: "exported elsewhere", createdAt: null, metadata: { turn_id: crypto.randomUUID() } };
    expect(await bringInParts("exported", [exported])).toEqual({ made: [1], exchanges: ["exported elsewhere -"] });
  });

  test("are those that were indexed before pairs were kept, after the migration", async () => {
    const messages = [said("assistant", "hello", "12:00:00"), said("user", "q", "12:01:00"), said("assistant", "a", "12:02:00")];
    const { conversationId } = await imports.import({ ...owner, sessionId: "before", messages, jobKinds: [] });
    const conversation = { ...owner, conversationId };
    await database.query({ text: "update messages set partner_id = null, import_number = null, is_unread = null" });
    const migration = await readFile(new URL("../../../../stores/postgres/migrations/0015_exchanges.sql", import.meta.url), "utf8");
    await database.query({ text: migration.slice(migration.indexOf("with imported as")) });
    const read = await makeEpisodeStore(database).readBacklog(conversation, "i", 100);
    const found = toExchanges(read.messages).map(({ asked, answer }) => [asked?.content, answer?.content]);
    expect(found).toEqual([[undefined, "hello"], ["q", "a"]]); // prettier-ignore
  });

  /** As if all of a conversation had been indexed, whatever it is. */
  async function indexAll(conversationId: string): Promise<void> {
    const conversation = { ...owner, conversationId };
    const episodes = makeEpisodeStore(database);
    const read = await episodes.readBacklog(conversation, "i", 100);
    const { createdAt, id } = read.messages.at(-1) ?? { createdAt: new Date(0), id: "" };
    expect(await episodes.advance(conversation, "i", read, { indexedThrough: { createdAt, id }, lastEpisodeId: null })).toBe(true);
  }

  test("of older messages have the index go back to them, and of newer ones only go on", async () => {
    const pair = (name: string, minute: number) => [
      said("user", name, `12:0${minute}:00`),
      said("assistant", `re ${name}`, `12:0${minute}:30`),
    ];
    const { conversationId } = await imports.import({
      ...owner,
      sessionId: "reindex",
      messages: [...pair("a", 1), ...pair("c", 3)],
      jobKinds: [],
    });
    await indexAll(conversationId);
    expect((await bringInParts("reindex", pair("d", 4))).exchanges).toEqual(["d re d"]);
    expect((await bringInParts("reindex", pair("b", 2))).exchanges).toEqual(["b re b", "c re c", "d re d"]);
  });

  test("have the index go back to a question that was alone and gets its answer", async () => {
    const messages = [said("user", "asked", "12:00:00")];
    const { conversationId } = await imports.import({ ...owner, sessionId: "answer", messages, jobKinds: [] });
    await indexAll(conversationId);
    expect((await bringInParts("answer", [said("assistant", "late answer", "12:01:00")])).exchanges).toEqual(["asked late answer"]);
  });

  test("are not passed over by a reader who has read before they were there", async () => {
    const { conversationId } = await imports.import({
      ...owner,
      sessionId: "late",
      messages: [said("user", "second", "12:02:00")],
      jobKinds: [],
    });
    const conversation = { ...owner, conversationId };
    const episodes = makeEpisodeStore(database);
    const read = await episodes.readBacklog(conversation, "i", 100);
    await bringInParts("late", [said("user", "first", "12:01:00")]);
    const indexedThrough = read.messages[0] ?? { createdAt: new Date(0), id: "" };
    expect(await episodes.advance(conversation, "i", read, { indexedThrough, lastEpisodeId: null })).toBe(false);
    expect((await episodes.readBacklog(conversation, "i", 100)).messages.map(({ content }) => content)).toEqual(["first", "second"]);
  });
});
