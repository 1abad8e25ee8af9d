import { beforeEach, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { Owner } from "../../../../turn/owner.ts";
import type { StoredSection } from "../../../../stores/postgres/memory/write-sections.ts";
import { contentsOf, operationsOf, teach, versionsOf } from "../../../support/samples/core-memory.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";

const section = "profile";
const [LISBON, PORTO, TEA, COFFEE] = ["Lives in Lisbon.", "Lives in Porto.", "Likes tea.", "Likes coffee."];
/** Stands for a line that was said in the erased conversation: each test has its own. */
const SECRET = "(secret)";

/** A section that is written by a person, in the conversation that is erased, or in another one. */
type Step = { by: "person" | "erased" | "other"; content: string | null; of: string };
const person = (content: string, of = section): Step => ({ by: "person", content, of });
const erased = (content: string | null, of = section): Step => ({ by: "erased", content, of });
const other = (content: string | null, of = section): Step => ({ by: "other", content, of });

interface Outcome {
  contents?: Record<string, string>;
  /** Of `profile`, as "1: content". */
  history?: string[];
  /** Of operations, as "1: old → new". */
  changes?: string[];
  counts?: { coreMemorySections: number; memoryOperations: number };
}

describeStores("after an erase of a conversation", ({ database, coreMemory, erases, complete }) => {
  let owner: Owner;
  let conversations: Record<"erased" | "other", { conversationId: string; messageId: string }>;
  let secret: string;
  beforeEach(async () => {
    owner = { tenantId: uuidv7(), userId: uuidv7() };
    secret = `Keeps a ${uuidv7()}.`;
    conversations = { erased: await complete(owner), other: await complete(owner) };
  });

  async function write({ by, content: given, of }: Step): Promise<StoredSection> {
    const content = given?.replaceAll(SECRET, secret) ?? null;
    if (by === "person") return coreMemory.put(owner, { section: of, content: content ?? "" });
    const { conversationId, messageId } = conversations[by];
    return teach(database, owner, { section: of, content, conversationId, triggerMessageIds: [messageId] });
  }
  async function erase(which: "erased" | "other" = "erased") {
    const rows = await erases.conversation({ ...owner, conversationId: conversations[which].conversationId });
    if (!rows) throw new Error("there was no such conversation");
    return rows.erased;
  }
  const contents = () => contentsOf(database, owner);
  const history = async () => (await versionsOf(database, owner)).map(({ version, content }) => `${version}: ${content}`);
  const operations = () => operationsOf(database, owner);
  const changes = async () => (await operations()).map(({ version, oldValue, newValue }) => `${version}: ${oldValue} → ${newValue}`);
  const present = async () => (await coreMemory.load(owner)).sections;

  async function expectOutcome(outcome: Outcome): Promise<void> {
    if (outcome.contents) expect(await contents()).toEqual(outcome.contents);
    if (outcome.history) expect(await history()).toEqual(outcome.history);
    if (outcome.changes) expect(await changes()).toEqual(outcome.changes);
    expect(await tablesHolding(database, secret)).toEqual({});
  }
  function scenario(title: string, steps: readonly Step[], outcome: Outcome): void {
    test(title, async () => {
      for (const step of steps) await write(step);
      expect(await erase()).toMatchObject(outcome.counts ?? {});
      await expectOutcome(outcome);
    });
  }

  scenario("the section is as it was before", [person(LISBON), erased(`${LISBON}\n${SECRET}`)], {
    contents: { profile: LISBON },
    history: [`1: ${LISBON}`, `3: ${LISBON}`],
    changes: [`1: null → ${LISBON}`],
    counts: { coreMemorySections: 1, memoryOperations: 1 },
  });
  scenario(
    "what it took away is back: a line that it replaced, and a section that it removed",
    [person(LISBON), erased(PORTO), other(TEA, "preferences"), erased(null, "preferences")],
    { contents: { profile: LISBON, preferences: TEA }, counts: { coreMemorySections: 2, memoryOperations: 2 } },
  );
  scenario(
    "a line of others that it took away is back in later versions, too",
    [person(LISBON), erased(PORTO), other(`${PORTO}\n${TEA}`)],
    { contents: { profile: `${LISBON}\n${TEA}` } },
  );
  scenario(
    "later versions of others keep their own lines and lose those it brought in",
    [erased(SECRET), other(`${SECRET}\n${TEA}`), person(`${TEA}\n${SECRET}\n${LISBON}`)],
    { contents: { profile: `${TEA}\n${LISBON}` }, history: [`2: ${TEA}`, `3: ${TEA}\n${LISBON}`, `4: ${TEA}\n${LISBON}`] },
  );
  scenario(
    "operations of others keep their own lines and lose those it brought in",
    [erased(SECRET), other(`${SECRET}\n${TEA}`), person(LISBON)],
    { changes: [`2: null → ${TEA}`, `3: ${TEA} → ${LISBON}`] },
  );
  scenario("a section that others removed since stays removed", [erased(SECRET), other(null)], { contents: {}, history: ["2: null"] });
  scenario(
    "a line that others had brought in before stays, although it wrote it again",
    [other(TEA), erased(`${TEA}\n${SECRET}`), person(`${TEA}\n${SECRET}\n${LISBON}`)],
    { contents: { profile: `${TEA}\n${LISBON}` } },
  );
  scenario("a line that somebody else wrote again after it was gone is theirs", [erased(TEA), other(COFFEE), person(`${COFFEE}\n${TEA}`)], {
    contents: { profile: `${COFFEE}\n${TEA}` },
  });
  scenario("a line that a person put into other words is theirs", [erased(`${SECRET}\n${TEA}`), person(`${TEA}\nLikes green tea.`)], {
    contents: { profile: "Likes green tea." },
  });
  // The version is kept whole.
  scenario("an operation keeps a line that its author had brought in before", [person(TEA), person(LISBON), erased(TEA)], {
    history: [`1: ${TEA}`, `2: ${LISBON}`, `4: ${LISBON}`],
    changes: [`1: null → ${TEA}`, `2: ${TEA} → ${LISBON}`],
  });
  scenario(
    "an operation keeps the same line of another section",
    [person(TEA, "preferences"), erased(COFFEE, "preferences"), erased(TEA)],
    { contents: { preferences: TEA }, changes: [`1: null → ${TEA}`] },
  );
  scenario("a section that says the same gets no new version", [erased(SECRET), other(TEA)], {
    history: [`2: ${TEA}`],
    changes: [`2: null → ${TEA}`],
  });
  scenario("a section that was taken away and came back has operations of its own versions", [erased(SECRET), other(null), person(TEA)], {
    changes: ["2: null → null", `3: null → ${TEA}`],
  });
  for (const [name, before, behind] of [
    ["with the line ends of Windows", "", `\r\n${TEA}`],
    ["with a space at its end", "", ` \n${TEA}`],
    ["indented", `${TEA}\n  `, ""],
  ] as const) {
    scenario(`a line that goes on in a later version is gone from it, ${name}`, [erased(SECRET), person(`${before}${SECRET}${behind}`)], {
      contents: { profile: before ? TEA : behind.trim() },
    });
  }

  test.each([
    ["the agent", other(SECRET, "goals")],
    ["a person", person(`- ${SECRET}`, "goals")],
  ])("a line that %s moved to another section goes from there, too", async (_name, move) => {
    for (const step of [erased(SECRET), move, other(null)]) await write(step);
    await erase();
    await expectOutcome({ contents: {} });
    expect((await operations()).map(({ section: of, oldValue, newValue }) => [of, oldValue, newValue])).toEqual([
      ["goals", null, ""],
      ["profile", null, null],
    ]);
    expect((await versionsOf(database, owner)).map(({ content }) => content)).toEqual([null]);
  });

  test("a section with nothing left has a last version without content and origin", async () => {
    for (const step of [erased(SECRET), erased(SECRET, "goals"), other(SECRET, "goals")]) await write(step);
    expect(await erase()).toMatchObject({ coreMemorySections: 2 });
    await expectOutcome({ contents: {} });
    expect(await versionsOf(database, owner)).toMatchObject([{ version: 2, content: "", conversationId: null, triggerMessageId: null }]);
    expect(await versionsOf(database, owner, "goals")).toMatchObject([2, 3].map((version) => ({ version, content: "" })));
  });

  test("other sections, and other users with the same lines, are as they were", async () => {
    const stranger = { ...owner, userId: `${owner.userId} ` };
    await teach(database, stranger, { content: secret, conversationId: conversations.other.conversationId });
    for (const step of [person(`${SECRET}\n\n${TEA}`, "preferences"), erased(SECRET)]) await write(step);
    expect(await erase()).toMatchObject({ coreMemorySections: 1 });
    expect(await contents()).toEqual({ preferences: `${secret}\n\n${TEA}` });
    expect(await changes()).toEqual([`1: null → ${secret}\n\n${TEA}`]);
    expect(await contentsOf(database, stranger)).toEqual({ profile: secret });
    expect(await operationsOf(database, stranger)).toMatchObject([{ newValue: secret }]);
  });

  test("core memory is as it was when the conversation taught nothing", async () => {
    await write(person(`${LISBON}\n\nHas a cat.`));
    const before = [await coreMemory.load(owner), await history(), await changes()];
    expect(await erase()).toMatchObject({ coreMemorySections: 0, memoryOperations: 0 });
    expect([await coreMemory.load(owner), await history(), await changes()]).toEqual(before);
  });

  test("a line that came back with an old version goes, too", async () => {
    for (const step of [erased(SECRET), person(TEA)]) await write(step);
    await coreMemory.revert(owner, { section, version: 1 });
    expect(await contents()).toEqual({ profile: secret });
    await erase();
    await expectOutcome({ contents: {} });
  });

  test("whoever has read an erased version cannot write under its number, which nothing else ever gets", async () => {
    await write(person(LISBON));
    const { content, version } = await write(erased(`${LISBON}\n${SECRET}`));
    const later = await write(other(`${LISBON}\n${SECRET}\n${TEA}`));
    await erase();
    expect(await present()).toMatchObject([{ version: later.version + 1 }]);
    for (const expectedVersion of [version, later.version]) {
      const late = coreMemory.put(owner, { section, content: `${content}\n${COFFEE}`, expectedVersion });
      await expect(late).rejects.toMatchObject({ code: "stale_version" });
    }
    expect(await write(other(TEA))).toMatchObject({ version: later.version + 2 });
  });

  // No new version is made when the last version, which is erased, says the same as what is left, or nothing.
  test.each([
    ["wrote back what had been there", LISBON],
    ["removed again what it had brought in", null],
  ])("a version number is never used again, also when what is erased %s", async (_name, before) => {
    if (before) await write(person(before));
    await write(erased(SECRET));
    const { version } = await write(erased(before));
    await erase();
    expect((await write(other(TEA))).version).toBeGreaterThan(version);
  });

  test("the new version has the origin of the last that is left: an erase of that takes it, too", async () => {
    for (const step of [person(LISBON), erased(`${LISBON}\n${SECRET}`), other(`${LISBON}\n${SECRET}\n${TEA}`)]) await write(step);
    await erase();
    const { conversationId, messageId } = conversations.other;
    const last = { version: 4, content: `${LISBON}\n${TEA}`, conversationId, triggerMessageId: messageId };
    expect((await versionsOf(database, owner)).at(-1)).toMatchObject(last);
    expect(await erase("other")).toMatchObject({ coreMemorySections: 1, memoryOperations: 1 });
    expect(await history()).toEqual([`1: ${LISBON}`, `5: ${LISBON}`]);
    expect(await changes()).toEqual([`1: null → ${LISBON}`]);
    expect(await present()).toMatchObject([{ version: 5, updatedBy: "person" }]);
    expect(await tablesHolding(database, conversationId)).toEqual({});
  });

  // A version of which nothing was left reads as a removal to the next erase.
  test("two erases one after another leave what an erase of both would: a line that the second took away is back", async () => {
    for (const step of [person(LISBON), other(null), erased(SECRET), person(`- ${SECRET}`)]) await write(step);
    await erase();
    expect(await contents()).toEqual({});
    await erase("other");
    expect(await contents()).toEqual({ profile: LISBON });
  });
});
