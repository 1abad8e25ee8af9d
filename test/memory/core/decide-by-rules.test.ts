import { expect, test } from "@jest/globals";
import { decideByRules, makeDecideByRules } from "../../../memory/core/decide-by-rules.ts";
import { turnToRead, workingMemory } from "../../support/samples/sample-agent.ts";

const sections = ["profile", "preferences"];
const turns = [turnToRead("My name is Ada."), turnToRead("I like tea.", 2)];
const LEARNT = { profile: "Name: Ada.", preferences: "Likes tea." };

test.each([
  ["every turn while they have processor time", 10_000, 2, LEARNT],
  ["one turn, and say so, when that has used their processor time", 0, 1, { profile: "Name: Ada." }],
])("the rules read %s", async (_what, budgetMs, count, expected) => {
  const memory = workingMemory({ allowed: sections });
  expect(await makeDecideByRules({ budgetMs })({ memory, turns, sections, newestIn: new Map() })).toBe(count);
  expect(memory.contents()).toEqual(expected);
});

test("the rules give a reason that names the lines they took out and put in", async () => {
  const memory = workingMemory({ allowed: sections });
  const moved = [turnToRead("I live in Lisbon."), turnToRead("I moved to Porto.", 2)];
  await decideByRules({ memory, turns: moved, sections, newestIn: new Map() });
  expect(memory.result().changes.map(({ reason }) => reason)).toEqual([
    'The user said so: added "Lives in Lisbon."',
    'The user said so: removed "Lives in Lisbon.", added "Lives in Porto."',
  ]);
});

test("the rules do not count time in which others had the processor", async () => {
  const memory = workingMemory({ allowed: sections });
  const starved = {
    ...memory,
    contents() {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600); // as while the machine runs something else
      return memory.contents();
    },
  };
  expect(await decideByRules({ memory: starved, turns, sections, newestIn: new Map() })).toBe(2);
  expect(memory.contents()).toEqual(LEARNT);
});
