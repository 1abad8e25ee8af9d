import { expect, test } from "@jest/globals";
import { routeToAgent, type AgentRouteParts } from "../../../nodes/routing/route-to-agent.ts";
import type { Agent } from "../../../turn/agent.ts";

const agent = (name: string, keywords: string[]): Agent => ({ name, description: `Knows ${name}`, keywords }) as unknown as Agent;
const AGENTS = [agent("cook", ["recipe", "menu"]), agent("waiter", ["menu", "table"]), agent("driver", ["taxi"])];
type Near = Awaited<ReturnType<NonNullable<AgentRouteParts["byEmbedding"]>>>;

const asked: string[][] = [];
const route = async (message: string, near: Partial<NonNullable<Near>> | null, chosen: { name: string; reason: string } | null) => {
  const { agent: found, reason } = await routeToAgent(message, AGENTS, {
    byEmbedding: async (bases) => (asked.push(bases.map(({ prefix }) => prefix)), near as Near),
    byModel: async () => chosen,
  });
  return [found?.name ?? null, reason];
};

test("the agent with the most keywords in the message is chosen, and nothing else is asked", async () => {
  expect(await route("Which recipe is on the menu?", { prefix: "driver", reason: "near" }, null)).toEqual([
    "cook",
    'the message has "recipe", "menu"',
  ]);
  expect(await route("Thank you!", { prefix: "driver", reason: "near" }, null)).toEqual([null, "small talk"]);
  expect(asked).toEqual([]);
});

test("meaning chooses among all agents when there are no keywords, and among the equal ones after a tie", async () => {
  expect(await route("How do I get to the airport?", { prefix: "driver", reason: "near" }, null)).toEqual(["driver", "near"]);
  expect(await route("What is on the menu?", { prefix: "waiter", reason: "near" }, null)).toEqual(["waiter", "near"]);
  expect(asked).toEqual([
    ["cook", "waiter", "driver"],
    ["cook", "waiter"],
  ]);
});

test("the model chooses when meaning does not, and else the first of a tie or the assistant is chosen", async () => {
  const far = { prefix: null, reason: "nothing is near" };
  expect(await route("What is on the menu?", far, { name: "waiter", reason: "a guest asks" })).toEqual(["waiter", "a guest asks"]);
  expect(await route("What is on the menu?", far, null)).toEqual(["cook", "nothing is near"]);
  expect(await route("How tall is the moon?", far, null)).toEqual([null, "nothing is near"]);
  expect(await route("How tall is the moon?", null, null)).toEqual([null, "no agent fits the message"]);
  const { reason } = await routeToAgent("How tall is the moon?", AGENTS, { byEmbedding: null, byModel: null });
  expect(reason).toBe("no agent fits the message");
});
