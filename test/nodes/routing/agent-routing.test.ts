import { readFile } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import { chooseNearest } from "../../../nodes/routing/route-by-embedding.ts";
import { routeToAgent } from "../../../nodes/routing/route-to-agent.ts";
import { makeRoute } from "../../../nodes/route.ts";
import { makeFixedKnowledgeCatalog } from "../../../stores/knowledge-catalog.ts";
import { type Agent, AgentSpec, ASSISTANT } from "../../../turn/agent.ts";
import type { ConversationState } from "../../../turn/state.ts";

/** Six agents as their owners would write them: some in English, some in Chinese, some in both. */
const SPECS: Record<string, { description: string; keywords: string[] }> = {
  weather: {
    description: "Weather forecasts: rain, wind and temperature of a place. 天气预报",
    keywords: ["weather", "forecast", "天气", "下雨"],
  },
  orders: {
    description: "Customer service: orders, parcels, returns, refunds and invoices. 订单、快递、退货、退款",
    keywords: ["order", "parcel", "refund", "订单", "快递", "退款"],
  },
  tables: {
    description: "Calculates with tables and columns of numbers: totals, averages, percentages",
    keywords: ["average", "column", "求和", "平均值", "表格"],
  },
  travel: { description: "旅行规划：行程、交通、住宿和预算", keywords: ["itinerary", "trip", "行程", "旅行"] },
  minutes: {
    description: "Turns notes and transcripts of meetings into minutes with decisions and tasks",
    keywords: ["meeting", "transcript", "会议", "纪要"],
  },
  coder: {
    description: "Writes, explains and repairs program code, SQL and tests",
    keywords: ["code", "function", "SQL", "git", "代码", "函数", "单元测试"],
  },
};
const agents: Agent[] = Object.entries(SPECS).map(([name, spec]) => ({ ...AgentSpec.parse(spec), name, tier: "tenant" }));

/** Each line: the half, who should answer, the message, and the two nearest agents by the embedder of the first line. */
const [[embedder = ""] = [], ...rows] = (await readFile(new URL("agent-questions.tsv", import.meta.url), "utf8"))
  .trim()
  .split("\n")
  .map((line) => line.split("\t"));
const questions = rows.map(([half = "", gold = "", text = "", ...figures]) => {
  const nearest = [0, 2].map((place) => ({ prefix: figures[place] ?? "", nearness: Number(figures[place + 1]) }));
  return { half, gold, text, nearest };
});
type Question = (typeof questions)[number];

const route = makeRoute({
  knowledge: makeFixedKnowledgeCatalog([]),
  agents: { list: async () => agents },
  embedder: makeHashedEmbedder({}),
});

async function byBuiltIn({ text: message }: Question): Promise<string> {
  const state = { tenantId: "t", message, requestedKbPrefix: null, requestedAgent: null, agentType: null };
  const { agent } = await route(state as unknown as ConversationState, { context: {} });
  return agent?.name ?? ASSISTANT;
}

async function byLearnedModel({ text, nearest }: Question): Promise<string> {
  const byEmbedding = async (_bases: unknown, isTie: boolean) => chooseNearest(nearest, { isTie, embedder });
  return (await routeToAgent(text, agents, { byEmbedding, byModel: null })).agent?.name ?? ASSISTANT;
}

describe("agents, on questions that no figure was chosen on, without a model,", () => {
  test.each<[string, (question: Question) => Promise<string>, number]>([
    ["the built-in embedder", byBuiltIn, 0.5],
    ["e5", byLearnedModel, 0.75],
  ])("get most of their questions with %s, and no question of the assistant or of another agent", async (_, choose, least) => {
    const reported = questions.filter(({ half }) => half === "reported");
    const chosen = await Promise.all(reported.map(async (question) => ({ ...question, chosen: await choose(question) })));
    const theirs = chosen.filter(({ gold }) => gold !== ASSISTANT);
    expect(theirs.filter((one) => one.chosen === one.gold).length / theirs.length).toBeGreaterThanOrEqual(least);
    expect(chosen.filter((one) => one.chosen !== one.gold && one.chosen !== ASSISTANT)).toEqual([]);
  });
});
