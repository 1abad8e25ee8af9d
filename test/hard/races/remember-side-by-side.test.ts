import { beforeEach, describe, expect, test } from "@jest/globals";
import type { DecideMemory } from "../../../memory/core/remember-turns.ts";
import { contentsOf, operationsOf, versionsOf } from "../../support/samples/core-memory.ts";
import { useRacingDatabases } from "./racing-databases.ts";
import { readingAgent, writeFor, type ReadingAgent } from "../../support/samples/reading-agent.ts";

describe("memory agents of two processes on one Postgres", () => {
  const databases = useRacingDatabases();
  let agent: ReadingAgent;
  beforeEach(() => void (agent = readingAgent(databases.one.database)));

  /** Decides only once `count` agents are at it. */
  function together(count: number, decide: DecideMemory): DecideMemory {
    const all = Promise.withResolvers<void>();
    let arrived = 0;
    return async (reading, signal) => {
      if (++arrived === count) all.resolve();
      await all.promise;
      await decide(reading, signal);
    };
  }

  test("write only what the faster one decides when both read the same turn at once, and do not log the slower one's refusals either", async () => {
    await agent.say("I moved to Porto.");
    const decide = together(2, async (reading) => {
      await writeFor(reading, "secrets", "refused");
      await writeFor(reading, "profile", crypto.randomUUID());
    });
    await Promise.all([agent.step(decide, databases.one.database), agent.step(decide, databases.other.database)]);
    expect(await versionsOf(databases.one.database, agent.owner)).toHaveLength(1);
    expect(await operationsOf(databases.one.database, agent.owner)).toHaveLength(2);
  });

  test("lose nothing when one of them reads what was said meanwhile", async () => {
    await agent.say("I moved to Porto.");
    const add =
      (town: string): DecideMemory =>
      (reading) => {
        const known = reading.memory.contents()["profile"];
        return writeFor(reading, "profile", [known, town].filter(Boolean).join("\n"));
      };
    await agent.step(async (reading, signal) => {
      await agent.say("And I have a cat.");
      await agent.step(add("other"), databases.other.database); // reads both
      await add("one")(reading, signal);
    });
    expect(await contentsOf(databases.one.database, agent.owner)).toEqual({ profile: "other" });
    expect(await agent.readAll(add("never"))).toBe(1);
    expect(await contentsOf(databases.one.database, agent.owner)).toEqual({ profile: "other" });
  });

  test("decide on the last version before their own when ten people write the same section, and every write is a version", async () => {
    await agent.say("I moved to Porto.");
    const people = databases.other.coreMemory;
    const seen: string[] = [];
    const writes = Promise.all(
      Array.from({ length: 10 }, (_, number) => people.put(agent.owner, { section: "profile", content: `by ${number}` })),
    );
    const decided = agent
      .step(async (reading) => {
        const known = reading.memory.contents()["profile"] ?? "";
        seen.push(known);
        await writeFor(reading, "profile", `${known}\nLives in Porto`.trim());
      })
      .catch(() => agent.step((reading) => writeFor(reading, "profile", `${reading.memory.contents()["profile"] ?? ""}\nLives in Porto`)));
    await Promise.all([writes, decided]);
    const versions = await versionsOf(databases.one.database, agent.owner);
    expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 11 }, (_, index) => index + 1));
    const own = versions.findIndex(({ updatedBy }) => updatedBy === "agent");
    expect(versions[own]?.content).toBe([versions[own - 1]?.content, "Lives in Porto"].filter(Boolean).join("\n"));
  });

  test("write nothing when the conversation is deleted while one of them decides", async () => {
    await agent.say("I moved to Porto.");
    await agent.step(async (reading) => {
      await databases.other.database.query({ text: "delete from conversations where user_id = $1", values: [agent.owner.userId] });
      await writeFor(reading, "profile", "Lives in Porto");
    });
    expect(await contentsOf(databases.one.database, agent.owner)).toEqual({});
    expect(await operationsOf(databases.one.database, agent.owner)).toEqual([]);
  });

  async function readWhileDeleted(): Promise<string[]> {
    const gone = await agent.say("I moved to Porto.");
    await agent.say("I have a cat.");
    const read: string[] = [];
    const decide: DecideMemory = async (reading) => {
      read.push(reading.turns.map(({ userMessage }) => userMessage).join(" "));
      if (read.length === 1) await databases.other.database.query({ text: "delete from messages where id = $1", values: [gone] });
      await writeFor(reading, "profile", read.at(-1) ?? "");
    };
    await agent.step(decide).catch(() => undefined);
    await agent.readAll(decide);
    return read;
  }

  test("write only what is decided without a message that was deleted after it was read", async () => {
    await readWhileDeleted();
    expect(await contentsOf(databases.one.database, agent.owner)).toEqual({ profile: "I have a cat." });
  });

  test("are not given a message again that was deleted after it was read", async () => {
    expect(await readWhileDeleted()).toEqual(["I moved to Porto. I have a cat.", "I have a cat."]);
  });
});
