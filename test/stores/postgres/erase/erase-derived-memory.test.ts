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

describeOnBothDatabases("erasing what a conversation taught", (open) => {
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

  test("the section goes back to what it was before", async () => {
    await byPerson("Lives in Lisbon.");
    await byErased(`Lives in Lisbon.\n${secret}`);
    expect(await erase()).toMatchObject({ coreMemorySections: 1, memoryOperations: 1 });
    expect(await contents()).toEqual({ profile: "Lives in Lisbon." });
    expect(await history()).toEqual([
      [1, "Lives in Lisbon."],
      [3, "Lives in Lisbon."],
    ]);
    expect(await changes()).toEqual([[null, "Lives in Lisbon."]]);
    expect(await coreMemory.load(owner)).toMatchObject({ sections: [{ version: 3, updatedBy: "person" }] });
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test("what it took away comes back: a line that it replaced, and a section that it removed", async () => {
    await byPerson("Lives in Lisbon.");
    await byErased("Lives in Porto.");
    await byOther("Likes tea.", "preferences");
    await byErased(null, "preferences");
    expect(await erase()).toMatchObject({ coreMemorySections: 2, memoryOperations: 2 });
    expect(await contents()).toEqual({ profile: "Lives in Lisbon.", preferences: "Likes tea." });
  });

  test("later versions of others keep their own lines and lose those it brought in", async () => {
    await byErased(secret);
    await byOther(`${secret}\nLikes tea.`);
    await byPerson(`Likes tea.\n${secret}\nLives in Lisbon.`);
    await erase();
    expect(await contents()).toEqual({ profile: "Likes tea.\nLives in Lisbon." });
    expect(await history()).toEqual([
      [2, "Likes tea."],
      [3, "Likes tea.\nLives in Lisbon."],
      [4, "Likes tea.\nLives in Lisbon."],
    ]);
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test("operations of others keep their own lines and lose those it brought in", async () => {
    await byErased(secret);
    await byOther(`${secret}\nLikes tea.`);
    await byPerson("Lives in Lisbon.");
    await erase();
    expect(await changes()).toEqual([
      [null, "Likes tea."],
      ["Likes tea.", "Lives in Lisbon."],
    ]);
  });

  test("a section with nothing left in it disappears: its last version has no content, and says nothing of where it came from", async () => {
    await byErased(secret);
    await byErased(secret, "goals");
    await byOther(secret, "goals");
    expect(await erase()).toMatchObject({ coreMemorySections: 2 });
    expect(await contents()).toEqual({});
    expect(await versionsOf(database, owner)).toMatchObject([{ version: 2, content: "", conversationId: null, triggerMessageId: null }]);
    expect((await versionsOf(database, owner, "goals")).map(({ version, content }) => [version, content])).toEqual([
      [2, ""],
      [3, ""],
    ]);
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test("a section that others removed since stays removed", async () => {
    await byErased(secret);
    await coreMemory.remove(owner, { section });
    await erase();
    expect(await contents()).toEqual({});
    expect(await history()).toEqual([[2, null]]);
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test("a line that others had brought in before stays, although it wrote it again", async () => {
    await byOther("Likes tea.");
    await byErased(`Likes tea.\n${secret}`);
    await byPerson(`Likes tea.\n${secret}\nLives in Lisbon.`);
    await erase();
    expect(await contents()).toEqual({ profile: "Likes tea.\nLives in Lisbon." });
  });

  test("a line that somebody else wrote again after it was gone is theirs", async () => {
    await byErased("Likes tea.");
    await byOther("Likes coffee.");
    await byPerson("Likes coffee.\nLikes tea.");
    await erase();
    expect(await contents()).toEqual({ profile: "Likes coffee.\nLikes tea." });
  });

  test("sections that it said nothing of are left alone, as are other users with the same lines", async () => {
    const stranger = { ...owner, userId: `${owner.userId} ` };
    await teach(database, stranger, { content: secret, conversationId: other.conversationId });
    await byPerson(`${secret}\n\nLikes tea.`, "preferences");
    await byErased(secret);
    expect(await erase()).toMatchObject({ coreMemorySections: 1 });
    expect(await contents()).toEqual({ preferences: `${secret}\n\nLikes tea.` });
    expect(await changes()).toEqual([[null, `${secret}\n\nLikes tea.`]]);
    expect(await contentsOf(database, stranger)).toEqual({ profile: secret });
    expect(await operationsOf(database, stranger)).toMatchObject([{ newValue: secret }]);
  });

  test("a conversation that taught nothing leaves core memory as it is", async () => {
    await byPerson("Lives in Lisbon.\n\nHas a cat.");
    const before = [await coreMemory.load(owner), await history(), await changes()];
    expect(await erase()).toMatchObject({ coreMemorySections: 0, memoryOperations: 0 });
    expect([await coreMemory.load(owner), await history(), await changes()]).toEqual(before);
  });

  test("a line of others that it took away is back in later versions, too: the section is as it would be without", async () => {
    await byPerson("Lives in Lisbon.");
    await byErased("Lives in Porto.");
    await byOther("Lives in Porto.\nLikes tea.");
    await erase();
    expect(await contents()).toEqual({ profile: "Lives in Lisbon.\nLikes tea." });
  });

  test("an operation keeps a line that its author had brought in before the conversation that is erased brought it back", async () => {
    await byPerson("Likes tea.");
    await byPerson("Lives in Lisbon.");
    await byErased("Likes tea.");
    await erase();
    expect(await history()).toContainEqual([1, "Likes tea."]); // the version is kept whole
    expect(await changes()).toContainEqual([null, "Likes tea."]);
  });

  test("an operation keeps a line that was brought in elsewhere: the same line in another section", async () => {
    await byPerson("Likes tea.", "preferences");
    await byErased("Likes coffee.", "preferences");
    await byErased("Likes tea.");
    await erase();
    expect(await contents()).toEqual({ preferences: "Likes tea." });
    expect(await changes()).toEqual([[null, "Likes tea."]]);
  });

  test.each([
    ["with the line ends of Windows", "", "\r\nLikes tea."],
    ["with a space at its end", "", " \nLikes tea."],
    ["indented", "Likes tea.\n  ", ""],
  ])("a line that goes on in a later version is gone from it, also %s", async (_name, before, behind) => {
    await byErased(secret);
    await byPerson(`${before}${secret}${behind}`);
    await erase();
    expect(Object.values(await contents()).map((content) => content.trim())).toEqual(["Likes tea."]);
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test.each([
    ["the agent", () => byOther(secret, "goals")],
    ["a person", () => byPerson(`- ${secret}`, "goals")],
  ])("a line that %s moved to another section goes from there, too", async (_name, move) => {
    await byErased(secret);
    await move();
    await byOther(null);
    await erase();
    expect(await contents()).toEqual({});
    expect((await operationsOf(database, owner)).map(({ section: of, oldValue, newValue }) => [of, oldValue, newValue])).toEqual([
      ["goals", null, ""],
      ["profile", null, null],
    ]);
    expect((await versionsOf(database, owner)).map(({ content }) => content)).toEqual([null]);
    expect(await tablesHolding(database, secret)).toEqual({});
  });

  test("a line that a person put into other words is theirs", async () => {
    await byErased(`${secret}\nLikes tea.`);
    await byPerson("Likes tea.\nLikes green tea.");
    await erase();
    expect(await contents()).toEqual({ profile: "Likes green tea." });
  });

  test("going back to a version brings back what its lines rest on: an erase takes them again", async () => {
    await byErased(secret);
    await byPerson("Likes tea.");
    await coreMemory.revert(owner, { section, version: 1 });
    expect(await contents()).toEqual({ profile: secret });
    await erase();
    expect(await contents()).toEqual({});
    expect(await tablesHolding(database, secret)).toEqual({});
  });
});
