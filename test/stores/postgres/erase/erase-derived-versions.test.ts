import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../stores/owner.ts";
import { makeCoreMemoryStore, type CoreMemoryStore } from "../../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../../stores/postgres/erase/erase-store.ts";
import { makeTurnStore } from "../../../../stores/postgres/conversations/turn-store.ts";
import { contentsOf, operationsOf, teach, versionsOf } from "../../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../../support/databases/databases.ts";
import { completeTurn, sampleTurn } from "../../../support/samples/sample-turns.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";

const section = "profile";

describeOnBothDatabases("the versions of a section after an erase of what a conversation taught", (open) => {
  let database: Database;
  let coreMemory: CoreMemoryStore;
  let owner: Owner;
  let erased: { conversationId: string; messageId: string };
  let other: { conversationId: string; messageId: string };
  /** A line that was said in the conversation that is erased. */
  let secret: string;
  beforeAll(async () => {
    database = await open();
    coreMemory = makeCoreMemoryStore(database);
  });
  beforeEach(async () => {
    owner = { tenantId: uuidv7(), userId: uuidv7() };
    secret = `Keeps a ${uuidv7()}.`;
    erased = await completeTurn(makeTurnStore(database), sampleTurn(owner));
    other = await completeTurn(makeTurnStore(database), sampleTurn(owner));
  });
  afterAll(() => database.close());

  const from = ({ conversationId, messageId }: typeof erased) => ({ conversationId, triggerMessageIds: [messageId] });
  const byErased = (content: string | null, of = section) => teach(database, owner, { section: of, content, ...from(erased) });
  const byOther = (content: string | null, of = section) => teach(database, owner, { section: of, content, ...from(other) });
  const byPerson = (content: string, of = section) => coreMemory.put(owner, { section: of, content });
  async function erase() {
    const rows = await makeEraseStore(database).conversation({ ...owner, conversationId: erased.conversationId });
    if (!rows) throw new Error("there was no such conversation");
    return rows.erased;
  }
  const contents = () => contentsOf(database, owner);
  const history = async () => (await versionsOf(database, owner)).map(({ version, content }) => [version, content]);
  const changes = async () => (await operationsOf(database, owner)).map(({ oldValue, newValue }) => [oldValue, newValue]);

  test("a version number that a reader has seen is never given to something else", async () => {
    await byPerson("Lives in Lisbon.");
    const { version } = await byErased(`Lives in Lisbon.\n${secret}`);
    await erase();
    expect(await byOther("Lives in Lisbon.\nLikes tea.")).toMatchObject({ version: version + 2 });
    await expect(coreMemory.put(owner, { section, content: "Lives in Porto.", expectedVersion: version })).rejects.toMatchObject({
      code: "stale_version",
    });
  });

  test("whoever has read a line that is erased since cannot write it back under the version they read", async () => {
    await byErased(secret);
    const { content, version } = await byOther(`${secret}\nLikes tea.`);
    await erase();
    await expect(
      coreMemory.put(owner, { section, content: `${content}\nLives in Lisbon.`, expectedVersion: version }),
    ).rejects.toMatchObject({ code: "stale_version" });
  });

  test("the new version is that of the last that is left: an erase of where that came from takes it, too", async () => {
    await byPerson("Lives in Lisbon.");
    await byErased(`Lives in Lisbon.\n${secret}`);
    await byOther(`Lives in Lisbon.\n${secret}\nLikes tea.`);
    await erase();
    expect((await versionsOf(database, owner)).at(-1)).toMatchObject({
      version: 4,
      content: "Lives in Lisbon.\nLikes tea.",
      conversationId: other.conversationId,
      triggerMessageId: other.messageId,
    });
    erased = other;
    expect(await erase()).toMatchObject({ coreMemorySections: 1, memoryOperations: 1 });
    expect(await history()).toEqual([
      [1, "Lives in Lisbon."],
      [5, "Lives in Lisbon."],
    ]);
    expect(await changes()).toEqual([[null, "Lives in Lisbon."]]);
    expect(await tablesHolding(database, erased.conversationId)).toEqual({});
  });

  test("an erase that leaves what a section says as it is makes no new version of it", async () => {
    await byErased(secret);
    await byOther("Likes tea.");
    const before = await coreMemory.load(owner);
    await erase();
    expect(await coreMemory.load(owner)).toEqual(before);
    expect(await history()).toEqual([[2, "Likes tea."]]);
    expect(await changes()).toEqual([[null, "Likes tea."]]);
  });

  test("an operation of a section that was taken away and came back says so in versions of their own", async () => {
    await byErased(secret);
    await coreMemory.remove(owner, { section });
    await byPerson("Likes tea.");
    await erase();
    expect((await operationsOf(database, owner)).map(({ version, oldValue, newValue }) => [version, oldValue, newValue])).toEqual([
      [2, null, null],
      [3, null, "Likes tea."],
    ]);
  });

  // No new version is made when the last version, which is erased, says the same as what is left, or nothing.
  test.each([
    ["wrote back what had been there", "Lives in Lisbon."],
    ["removed again what it had brought in", null],
  ])("a version number is never used again, also when what is erased %s", async (_name, before) => {
    if (before) await byPerson(before);
    await byErased(secret);
    const { version } = await byErased(before);
    await erase();
    expect((await byOther("Likes tea.")).version).toBeGreaterThan(version);
  });

  // A version of which nothing was left reads as a removal to the next erase.
  test("two erases one after another leave what an erase of both would: a line that the second took away is back", async () => {
    await byPerson("Lives in Lisbon.");
    await byOther(null);
    await byErased(secret);
    await byPerson(`- ${secret}`);
    await erase();
    expect(await contents()).toEqual({});
    erased = other;
    await erase();
    expect(await contents()).toEqual({ profile: "Lives in Lisbon." });
  });
});
