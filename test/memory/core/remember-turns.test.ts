import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeDecideByRules } from "../../../memory/core/decide-by-rules.ts";
import type { DecideMemory, Reading } from "../../../memory/core/remember-turns.ts";
import type { Happening } from "../../../observe/observer.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";
import { contentsOf, operationsOf, versionsOf } from "../../support/samples/core-memory.ts";
import { readingAgent, writeFor, type ReadingAgent } from "../../support/samples/reading-agent.ts";
import { writtenByReadings } from "../../support/samples/sample-reading.ts";

const LONG_AGO = "2019-07-08T12:00:00Z";

describeStores("the memory agent", ({ database, coreMemory: people }) => {
  let agent: ReadingAgent;
  beforeEach(() => void (agent = readingAgent(database)));

  /** Notes what it is given to read, and decides by `decide`, nothing unless given. */
  function noting(decide: (reading: Reading, number: number) => Promise<number | void> = async () => undefined) {
    const readings: { asked: string[]; known: Record<string, string> }[] = [];
    const noted: DecideMemory = async (reading) => {
      readings.push({ asked: reading.turns.map(({ userMessage }) => userMessage), known: reading.memory.contents() });
      return decide(reading, readings.length);
    };
    return { readings, noted };
  }

  test("reads waiting turns together, oldest first, once", async () => {
    for (const message of ["one", "two", "three"]) await agent.say(message);
    const { readings, noted } = noting();
    expect(await agent.readAll(noted)).toBe(1);
    await agent.step(noted);
    await agent.say("four");
    await agent.readAll(noted);
    expect(readings).toEqual([
      { asked: ["one", "two", "three"], known: {} },
      { asked: ["four"], known: {} },
    ]);
  });

  test("reads at most twenty turns in one step, and all in several", async () => {
    const messages = Array.from({ length: 45 }, (_, number) => `message ${number}`);
    await agent.bring("2024-01-31T12:00:00Z", messages);
    const { readings, noted } = noting();
    await agent.readAll(noted);
    expect(readings.map(({ asked }) => asked.length)).toEqual([20, 20, 5]);
    expect(readings.flatMap(({ asked }) => asked)).toEqual(messages);
  });

  test.each([
    ["said", async () => void (await Promise.all(["s", "t"].map((session) => agent.say(`first of ${session}`, session))))],
    ["imported", async () => agent.bring(LONG_AGO, ["one", "two", "three"])],
  ])("moves past no turn that was put off: the next steps read what is %s, each turn once", async (_how, fill) => {
    await fill();
    await agent.say("four");
    await agent.say("five");
    const told: Happening[] = [];
    const { readings, noted } = noting(async () => 1);
    await agent.readAll(noted, told);
    const first = readings.map(({ asked }) => asked[0]);
    expect(new Set(first).size).toBe(first.length);
    expect(first).toEqual(expect.arrayContaining(["four", "five"]));
    expect(told).toContainEqual({ happened: "turns_put_off", turns: 1 });
    expect(readings.at(-1)?.asked).toHaveLength(1);
  });

  test("learns in the next step a fact that the rules had no time for", async () => {
    for (const fact of ["My name is Ada.", "I like tea."]) await agent.say(fact);
    expect(await agent.readAll(makeDecideByRules({ budgetMs: 0 }))).toBe(2);
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Name: Ada.", preferences: "Likes tea." });
  });

  test("writes the content, a version, the operation with its trigger and its position", async () => {
    const messageId = await agent.say("I live in Porto.");
    await agent.readAll();
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Lives in Porto." });
    expect(await versionsOf(database, agent.owner)).toMatchObject([{ version: 1, updatedBy: "agent", triggerMessageId: messageId }]);
    expect(await operationsOf(database, agent.owner)).toMatchObject([
      { operation: "core_update", actor: "agent", triggerMessageIds: [messageId] },
    ]);
    expect((await writtenByReadings(database, agent.owner)).cursors).toHaveLength(1);
  });

  test("decides again when a person wrote meanwhile, and no write is lost", async () => {
    await agent.say("I moved to Porto.");
    const { readings, noted } = noting(async (reading, number) => {
      if (number === 1) await people.put(agent.owner, { section: "profile", content: "Name: Ada" });
      const known = reading.memory.contents()["profile"];
      await writeFor(reading, "profile", [known, "Lives in Porto"].filter(Boolean).join("\n"));
    });
    await agent.readAll(noted);
    expect(readings.map(({ known }) => known)).toEqual([{}, { profile: "Name: Ada" }]);
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Name: Ada\nLives in Porto" });
    expect((await versionsOf(database, agent.owner)).map(({ version, updatedBy }) => [version, updatedBy])).toEqual([
      [1, "person"],
      [2, "agent"],
    ]);
    expect(await operationsOf(database, agent.owner)).toHaveLength(2);
  });

  test("decides once when a person wrote another section meanwhile", async () => {
    await agent.say("I moved to Porto.");
    const { readings, noted } = noting(async (reading) => {
      await people.put(agent.owner, { section: "goals", content: "To sail" });
      await writeFor(reading, "profile", "Lives in Porto");
    });
    await agent.readAll(noted);
    expect(readings).toHaveLength(1);
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Lives in Porto", goals: "To sail" });
  });

  test("gives up and writes nothing when the section changes each time, and the next step reads the same turns", async () => {
    await agent.say("I moved to Porto.");
    const { readings, noted } = noting(async (reading, number) => {
      if (number <= 5) await people.put(agent.owner, { section: "profile", content: `edit ${number}` });
      await writeFor(reading, "profile", "Lives in Porto");
    });
    await expect(agent.step(noted)).rejects.toMatchObject({ name: "AppError", code: "turn_superseded" });
    expect(readings).toHaveLength(5);
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "edit 5" });
    expect((await writtenByReadings(database, agent.owner)).cursors).toEqual([]);
    await agent.step(noted);
    expect(readings.at(-1)?.asked).toEqual(["I moved to Porto."]);
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Lives in Porto" });
  });

  test("has written nothing when the process stops in the middle", async () => {
    await agent.say("I moved to Porto.");
    const before = await writtenByReadings(database, agent.owner);
    const controller = new AbortController();
    const { noted } = noting(async (reading) => {
      await writeFor(reading, "profile", "Lives in Porto");
      controller.abort(new Error("stopping"));
    });
    await expect(agent.step(noted, database, controller.signal)).rejects.toThrow("stopping");
    expect(await writtenByReadings(database, agent.owner)).toEqual(before);
  });

  test("a call that it refused can always be logged, whatever it held", async () => {
    await agent.say("I moved to Porto.");
    await agent.step(async ({ memory }) => {
      const read = [{ messageId: crypto.randomUUID(), saidAt: new Date(), actor: "agent" as const }];
      await memory.call({ name: "a\0\ud83d", arguments: { section: `${"x".repeat(99)}😀`, content: "\0\udc00", reason: "\ud83d" } }, read);
      await memory.call({ name: "core_memory_update", arguments: { section: `${"x".repeat(99)}😀\0`, content: "x" } }, read);
    });
    expect(await operationsOf(database, agent.owner)).toMatchObject([{ operation: "unknown_tool" }, { operation: "core_update" }]);
  });

  describe("reading imports", () => {
    const known = async (): Promise<string> => Object.values(await contentsOf(database, agent.owner)).join("\n");

    test("names the import as author, and when it was said", async () => {
      await agent.bring(LONG_AGO, ["I live in Porto."]);
      await agent.readAll();
      expect(await known()).toMatch(/Porto/);
      expect(await versionsOf(database, agent.owner)).toMatchObject([{ version: 1, updatedBy: "import" }]);
      expect(await operationsOf(database, agent.owner)).toMatchObject([{ actor: "import", triggerMessageIds: [expect.any(String)] }]);
      expect((await people.load(agent.owner)).sections[0]?.saidAt.toISOString()).toBe("2019-07-08T12:00:00.000Z");
    });

    test("does not replace later words by older ones", async () => {
      await agent.say("I moved to Lisbon.");
      await agent.readAll();
      const before = await contentsOf(database, agent.owner);
      await agent.bring(LONG_AGO, ["I live in Porto."], "elsewhere");
      await agent.readAll();
      expect(await known()).toContain("Lisbon");
      expect(await contentsOf(database, agent.owner)).toEqual(before);
    });

    test("adds older facts that are new, and keeps the time of the section's newest fact", async () => {
      await agent.say("I live in Lisbon.");
      await agent.readAll();
      const [before] = (await people.load(agent.owner)).sections;
      await agent.bring(LONG_AGO, ["My name is Ada."], "elsewhere");
      await agent.readAll();
      expect(await known()).toMatch(/Lisbon[^]*Ada/);
      const [after] = (await people.load(agent.owner)).sections;
      expect(after?.saidAt).toEqual(before?.saidAt);
    });

    test("lets later words of one import replace earlier ones, in any order", async () => {
      await agent.bring("2019-07-09T12:00:00Z", ["I moved to Lisbon."]);
      await agent.bring(LONG_AGO, ["I live in Porto."]);
      await agent.readAll();
      expect(await known()).toContain("Lisbon");
      expect(await known()).not.toContain("Porto");
    });

    test("does not bring back what a person removed when an import makes the agent read a conversation again", async () => {
      await agent.say("I live in Lisbon.");
      await agent.readAll();
      await people.remove(agent.owner, { section: "profile" });
      await agent.bring(LONG_AGO, ["The weather is fine."]);
      await agent.readAll();
      expect(await known()).not.toMatch(/Lisbon/);
    });

    test("does not bring back a line that a person took out", async () => {
      for (const message of ["I live in Lisbon.", "My name is Ada."]) await agent.say(message);
      await agent.readAll();
      expect(await known()).toMatch(/Ada/);
      await people.put(agent.owner, { section: "profile", content: "Lives in Lisbon." });
      await agent.bring(LONG_AGO, ["The weather is fine."]);
      await agent.readAll();
      expect(await known()).not.toMatch(/Ada/);
    });

    test("gives a model the turns with their times, oldest first, and dates what it writes by them", async () => {
      await agent.bring(LONG_AGO, ["I live in Porto.", "I have a cat."]);
      const times: string[] = [];
      await agent.readAll(async (reading) => {
        times.push(...reading.turns.map(({ saidAt }) => saidAt.toISOString()));
        await writeFor(reading, "profile", "Lives in Porto");
      });
      expect(times).toEqual(["2019-07-08T12:00:00.000Z", "2019-07-08T12:01:00.000Z"]);
      expect((await people.load(agent.owner)).sections[0]?.saidAt.toISOString()).toBe("2019-07-08T12:01:00.000Z");
    });
  });
});
