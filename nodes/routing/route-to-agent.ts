import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import type { Agent } from "../../turn/agent.ts";
import type { EmbeddingRoute } from "./route-by-embedding.ts";
import { isCourtesy, matchKeywords } from "./route-by-words.ts";

export const asBase = ({ name, description, keywords }: Agent): KnowledgeBase => ({ prefix: name, description, keywords });

export interface AgentRoute {
  /** Null: the assistant. */
  agent: Agent | null;
  reason: string;
}

export interface AgentRouteParts {
  byEmbedding: ((bases: readonly KnowledgeBase[], isTie: boolean) => Promise<EmbeddingRoute | null>) | null;
  byModel: ((bases: readonly KnowledgeBase[]) => Promise<{ name: string; reason: string } | null>) | null;
}

/** The agent with most keywords in the message, else the nearest in meaning, else the router model's choice, else the assistant. */
export async function routeToAgent(
  message: string,
  agents: readonly Agent[],
  { byEmbedding, byModel }: AgentRouteParts,
): Promise<AgentRoute> {
  const bases = agents.map(asBase);
  const named = (name: string | null): Agent | null => agents.find((agent) => agent.name === name) ?? null;
  const [best, ...others] = matchKeywords(message, bases, ({ keywords }) => keywords);
  const equals = best ? others.filter(({ words }) => words.length === best.words.length) : [];
  if (best && equals.length === 0) {
    return { agent: named(best.base.prefix), reason: `the message has ${best.words.map((word) => `"${word}"`).join(", ")}` };
  }
  if (!best && isCourtesy(message)) return { agent: null, reason: "small talk" };
  const candidates = best ? [best, ...equals].map(({ base }) => base) : bases;
  const near = await byEmbedding?.(candidates, best !== undefined);
  if (near?.prefix) return { agent: named(near.prefix), reason: near.reason };
  const chosen = await byModel?.(candidates);
  if (chosen) return { agent: named(chosen.name), reason: chosen.reason || "the router model chose it" };
  return { agent: best ? named(best.base.prefix) : null, reason: near?.reason ?? "no agent fits the message" };
}
