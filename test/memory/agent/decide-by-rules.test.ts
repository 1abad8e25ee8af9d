import { expect, test } from "@jest/globals";
import { makeDecideByRules } from "../../../memory/agent/decide-by-rules.ts";
import type { TurnToRead } from "../../../memory/agent/remember-turns.ts";
import { makeWorkingMemory } from "../../../memory/agent/working-memory.ts";

const SECTIONS = ["profile", "preferences"];

function turn(userMessage: string): TurnToRead {
  return { messageId: crypto.randomUUID(), userMessage, assistantMessage: "Noted.", saidAt: new Date(), actor: "agent" };
}

async function learnt(budgetMs: number): Promise<Record<string, string>> {
  const memory = makeWorkingMemory({
    conversationId: crypto.randomUUID(),
    sections: [],
    allowed: SECTIONS,
    leftOut: new Set(),
    search: null,
  });
  const turns = [turn("My name is Ada."), turn("I like tea.")];
  await makeDecideByRules({ budgetMs })({ memory, turns, sections: SECTIONS, newestIn: new Map() }, new AbortController().signal);
  return memory.contents();
}

test("the rules read every turn while they have time", async () =>
  expect(await learnt(10_000)).toEqual({ profile: "Name: Ada.", preferences: "Likes tea." }));

test("the rules read no further turn when their time is over", async () => expect(await learnt(0)).toEqual({ profile: "Name: Ada." }));
