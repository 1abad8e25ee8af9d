import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { makeCoreMemoryStore, type CoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { contentsOf, operationsOf, versionsOf } from "../../support/samples/core-memory.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { readingAgent, writeFor, type ReadingAgent } from "../../support/samples/reading-agent.ts";

const LONG_AGO = "2019-07-08T12:00:00Z";

describeOnBothDatabases("the memory agent reading imports", (open) => {
  let database: Database;
  let people: CoreMemoryStore;
  let agent: ReadingAgent;
  beforeAll(async () => {
    database = await open();
    people = makeCoreMemoryStore(database);
  });
  afterAll(() => database.close());
  beforeEach(() => void (agent = readingAgent(database)));

  const known = async (): Promise<string> => Object.values(await contentsOf(database, agent.owner)).join("\n");

  test("names the import as the one who wrote, and when it was said", async () => {
    await agent.bring(LONG_AGO, ["I live in Porto."]);
    await agent.readAll();
    expect(await known()).toMatch(/Porto/);
    expect(await versionsOf(database, agent.owner)).toMatchObject([{ version: 1, updatedBy: "import" }]);
    expect(await operationsOf(database, agent.owner)).toMatchObject([{ actor: "import", triggerMessageIds: [expect.any(String)] }]);
    const { sections } = await people.load(agent.owner);
    expect(sections[0]?.saidAt.toISOString()).toBe("2019-07-08T12:00:00.000Z");
  });

  test("tells imported turns from live ones of the same conversation", async () => {
    await agent.bring(LONG_AGO, ["imported"]);
    await agent.say("live");
    const actors: string[] = [];
    await agent.readAll(async ({ turns }) => void actors.push(...turns.map(({ userMessage, actor }) => `${userMessage}: ${actor}`)));
    expect(actors).toEqual(["imported: import", "live: agent"]);
  });

  test("what is older does not replace what was said later", async () => {
    await agent.say("I moved to Lisbon.");
    await agent.readAll();
    const before = await contentsOf(database, agent.owner);
    await agent.bring(LONG_AGO, ["I live in Porto."], "elsewhere");
    await agent.readAll();
    expect(await known()).toContain("Lisbon");
    expect(await contentsOf(database, agent.owner)).toEqual(before);
  });

  test("what is older adds what is not known yet, and the section still counts as said when the newest of it was", async () => {
    await agent.say("I live in Lisbon.");
    await agent.readAll();
    const [before] = (await people.load(agent.owner)).sections;
    await agent.bring(LONG_AGO, ["My name is Ada."], "elsewhere");
    await agent.readAll();
    expect(await known()).toMatch(/Lisbon[^]*Ada/);
    const [after] = (await people.load(agent.owner)).sections;
    expect(after?.saidAt).toEqual(before?.saidAt);
  });

  test("within one import later words replace earlier ones, in whichever order they stand in it", async () => {
    await agent.bring("2019-07-09T12:00:00Z", ["I moved to Lisbon."]);
    await agent.bring(LONG_AGO, ["I live in Porto."]);
    await agent.readAll();
    expect(await known()).toContain("Lisbon");
    expect(await known()).not.toContain("Porto");
  });

  test("what was imported before what has been read of the same conversation is read, and nothing is written twice", async () => {
    await agent.say("I live in Lisbon.");
    await agent.readAll();
    await agent.bring(LONG_AGO, ["My name is Ada."]);
    await agent.readAll();
    expect(await known()).toMatch(/Lisbon[^]*Ada|Ada[^]*Lisbon/);
    expect(await operationsOf(database, agent.owner)).toHaveLength(2);
  });

  test("what a person removed does not come back because an import makes the agent read its conversation again", async () => {
    await agent.say("I live in Lisbon.");
    await agent.readAll();
    await people.remove(agent.owner, { section: "profile" });
    await agent.bring(LONG_AGO, ["The weather is fine."]);
    await agent.readAll();
    expect(await known()).not.toMatch(/Lisbon/);
  });

  test("a line that a person took out does not come back either", async () => {
    for (const message of ["I live in Lisbon.", "My name is Ada."]) await agent.say(message);
    await agent.readAll();
    expect(await known()).toMatch(/Ada/);
    await people.put(agent.owner, { section: "profile", content: "Lives in Lisbon." });
    await agent.bring(LONG_AGO, ["The weather is fine."]);
    await agent.readAll();
    expect(await known()).not.toMatch(/Ada/);
  });

  test("a model is given the turns with their times, oldest first, and what it writes counts as said then", async () => {
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
