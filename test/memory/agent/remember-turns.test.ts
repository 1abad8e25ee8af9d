import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { DecideMemory, Reading } from "../../../memory/agent/remember-turns.ts";
import { makeCoreMemoryStore, type CoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { contentsOf, operationsOf, versionsOf } from "../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { readingAgent, writeFor, type ReadingAgent } from "../../support/samples/reading-agent.ts";
import { writtenByReadings } from "../../support/samples/sample-reading.ts";

describeOnBothDatabases("the memory agent", (open) => {
  let database: Database;
  let people: CoreMemoryStore;
  let agent: ReadingAgent;
  beforeAll(async () => {
    database = await open();
    people = makeCoreMemoryStore(database);
  });
  afterAll(() => database.close());
  beforeEach(() => void (agent = readingAgent(database)));

  /** Notes what it is given to read, and decides by `decide`, nothing unless given. */
  function noting(decide: (reading: Reading, number: number) => Promise<void> = async () => undefined) {
    const readings: { asked: string[]; known: Record<string, string> }[] = [];
    const noted: DecideMemory = async (reading) => {
      readings.push({ asked: reading.turns.map(({ userMessage }) => userMessage), known: reading.memory.contents() });
      await decide(reading, readings.length);
    };
    return { readings, noted };
  }

  test("reads the turns that wait together, the oldest first, once", async () => {
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

  test("reads each conversation of its user by itself, that which has waited longest first, and none of another user's", async () => {
    await agent.say("older", "a");
    await agent.say("newer", "b");
    await readingAgent(database).say("of another");
    const { readings, noted } = noting();
    await agent.readAll(noted);
    expect(readings.map(({ asked }) => asked)).toEqual([["older"], ["newer"]]);
  });

  test("never reads a turn whose answer is incomplete or missing, nor waits for it for ever", async () => {
    await agent.say("cut off", "s", { content: "half an ans", completed: false });
    await agent.say("failed", "s", null);
    const { readings, noted } = noting();
    expect(await agent.readAll(noted)).toBe(1);
    expect(readings).toEqual([]);
    await agent.say("whole");
    await agent.readAll(noted);
    expect(readings.map(({ asked }) => asked)).toEqual([["whole"]]);
  });

  test("writes the content, a version, the operation with its trigger and how far it has read", async () => {
    const messageId = await agent.say("I live in Porto.");
    await agent.readAll();
    expect(await contentsOf(database, agent.owner)).toEqual({ profile: "Lives in Porto." });
    expect(await versionsOf(database, agent.owner)).toMatchObject([{ version: 1, updatedBy: "agent", triggerMessageId: messageId }]);
    expect(await operationsOf(database, agent.owner)).toMatchObject([
      { operation: "core_update", actor: "agent", triggerMessageIds: [messageId] },
    ]);
    expect((await writtenByReadings(database, agent.owner)).cursors).toHaveLength(1);
  });

  test("decides again on what a person wrote while it was deciding: neither write is lost", async () => {
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

  test.each<[string, number, () => Promise<unknown>, object]>([
    ["again when a person removed the section", 2, () => people.remove(agent.owner, { section: "profile" }), { profile: "?\nPorto" }],
    [
      "once when a person wrote another section",
      1,
      () => people.put(agent.owner, { section: "goals", content: "To sail" }),
      { profile: "Name: Ada\nPorto", goals: "To sail" },
    ],
  ])("decides %s meanwhile", async (_what, count, change, contents) => {
    await people.put(agent.owner, { section: "profile", content: "Name: Ada" });
    await agent.say("I moved to Porto.");
    const { readings, noted } = noting(async (reading, number) => {
      if (number === 1) await change();
      await writeFor(reading, "profile", `${reading.memory.contents()["profile"] ?? "?"}\nPorto`);
    });
    await agent.readAll(noted);
    expect(readings).toHaveLength(count);
    expect(await contentsOf(database, agent.owner)).toEqual(contents);
  });

  test("gives up for now, and has written nothing, when the section changes each time; the next step reads the same turns", async () => {
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

  test("has written nothing when its decision fails half-way, and reads the same turns again", async () => {
    await agent.say("I moved to Porto.");
    const before = await writtenByReadings(database, agent.owner);
    const { readings, noted } = noting(async (reading, number) => {
      await writeFor(reading, "profile", "Lives in Porto");
      await writeFor(reading, "secrets", "refused");
      if (number === 1) throw new Error("the model is away");
    });
    await expect(agent.step(noted)).rejects.toThrow("the model is away");
    expect(await writtenByReadings(database, agent.owner)).toEqual(before);
    await agent.step(noted);
    expect(readings).toHaveLength(2);
    const written = (await operationsOf(database, agent.owner)).map(({ newValue, refused }) => `${newValue}: ${refused}`);
    expect(written.sort()).toEqual(["Lives in Porto: null", expect.stringMatching(/^refused: There is no section "secrets"/)]);
  });

  test("has written nothing when the process stops before it is done", async () => {
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

  test("writes no operation and no version when what it decides is what is there, and moves on", async () => {
    await people.put(agent.owner, { section: "profile", content: "Lives in Porto" });
    for (let turn = 0; turn < 5; turn++) {
      await agent.say("I live in Porto, remember?");
      await agent.readAll((reading) => writeFor(reading, "profile", "Lives in Porto\n"));
    }
    expect(await versionsOf(database, agent.owner)).toHaveLength(1);
    expect(await operationsOf(database, agent.owner)).toHaveLength(1);
    expect(await agent.readAll()).toBe(1);
  });
});
