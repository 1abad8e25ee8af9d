import { expect, test } from "@jest/globals";
import { matchAgents, routeToAgent, type AgentRouteParts } from "../../../nodes/routing/route-to-agent.ts";
import type { Agent } from "../../../turn/agent.ts";

const agent = (name: string, keywords: string[]): Agent => ({ name, description: `Knows ${name}`, keywords }) as unknown as Agent;
const AGENTS = [agent("cook", ["recipe", "menu"]), agent("waiter", ["menu", "table"]), agent("driver", ["taxi"])];
type Near = Awaited<ReturnType<NonNullable<AgentRouteParts["byEmbedding"]>>>;

const asked: string[][] = [];
const route = async (message: string, near: Partial<NonNullable<Near>> | null, chosen: { name: string; reason: string } | null) => {
  const { agent: found, reason } = await routeToAgent(message, AGENTS, {
    byEmbedding: async (bases) => (asked.push(bases.map(({ prefix }) => prefix)), near as Near),
    byModel: async () => chosen && { ...chosen, confidence: 0.7 },
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

const match = async (message: string, near: Near, chosen: string | null = null) => {
  const byModel = async () => (chosen === null ? null : { name: chosen, confidence: 0.7, reason: "" });
  const found = await matchAgents(message, AGENTS, { byEmbedding: async (_, isTie) => (isTie ? null : near), byModel });
  return found.map(({ agent: { name }, score, method }) => [name, method, Math.round(score * 100)]);
};

test("the agent that is chosen stands before the others that fit by words or by meaning, best first", async () => {
  const near = { prefix: "waiter", confidence: 0.8, reason: "near", near: [] as { prefix: string; confidence: number }[] };
  near.near = [
    { prefix: "waiter", confidence: 0.8 },
    { prefix: "driver", confidence: 0.6 },
  ];
  expect(await match("Which recipe is on the menu?", near)).toEqual([
    ["cook", "rule", 90],
    ["waiter", "embedding", 80],
    ["driver", "embedding", 60],
  ]);
  expect(await match("Who brings it?", near)).toEqual([
    ["waiter", "embedding", 80],
    ["driver", "embedding", 60],
  ]);
  expect(await match("What is on the menu?", null, "waiter")).toEqual([
    ["waiter", "llm", 70],
    ["cook", "rule", 45],
  ]);
});

test("no agent fits when the assistant is chosen", async () => {
  expect(await match("What is on the menu?", null, "assistant")).toEqual([]);
  expect(await match("How tall is the moon?", null)).toEqual([]);
});
