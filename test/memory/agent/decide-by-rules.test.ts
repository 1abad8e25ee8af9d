import { expect, test } from "@jest/globals";
import { makeDecideByRules } from "../../../memory/agent/decide-by-rules.ts";
import { turnToRead, workingMemory } from "../../support/samples/sample-agent.ts";

test.each([
  ["every turn while they have time", 10_000, { profile: "Name: Ada.", preferences: "Likes tea." }],
  ["no further turn when their time is over", 0, { profile: "Name: Ada." }],
])("the rules read %s", async (_what, budgetMs, expected) => {
  const sections = ["profile", "preferences"];
  const memory = workingMemory({ allowed: sections });
  const turns = [turnToRead("My name is Ada."), turnToRead("I like tea.", 2)];
  await makeDecideByRules({ budgetMs })({ memory, turns, sections, newestIn: new Map() }, new AbortController().signal);
  expect(memory.contents()).toEqual(expected);
});
