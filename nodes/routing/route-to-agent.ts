import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import type { Agent } from "../../turn/agent.ts";
import type { RouteDecision } from "../../turn/state.ts";
import type { EmbeddingRoute } from "./route-by-embedding.ts";
import { isCourtesy, KEYWORD_CONFIDENCE, matchKeywords } from "./route-by-words.ts";

export const asBase = ({ name, description, keywords }: Agent): KnowledgeBase => ({ prefix: name, description, keywords });

/** An agent that fits a message. `score`: how likely it is the right one. */
export interface AgentMatch {
  agent: Agent;
  score: number;
  method: RouteDecision["method"];
  reason: string;
}

export interface AgentRoute {
  /** Null: the assistant. */
  agent: Agent | null;
  reason: string;
  /** The chosen one, then the others that were found to fit, best first. None for the assistant. */
  matches: AgentMatch[];
}

export interface AgentRouteParts {
  byEmbedding: ((bases: readonly KnowledgeBase[], isTie: boolean) => Promise<EmbeddingRoute | null>) | null;
  byModel: ((bases: readonly KnowledgeBase[]) => Promise<{ name: string; confidence: number; reason: string } | null>) | null;
}

type Found = Omit<AgentMatch, "agent"> & { name: string };

const byMeaning = ({ near = [], reason }: EmbeddingRoute): Found[] =>
  near.map(({ prefix, confidence }) => ({ name: prefix, score: confidence, method: "embedding", reason }));

/** The agents by these names, each once: the first, then the others, best first. */
function toMatches(agents: readonly Agent[], [first, ...others]: readonly Found[]): AgentMatch[] {
  const ordered = first ? [first, ...others.toSorted((one, other) => other.score - one.score)] : [];
  const once = new Map(ordered.toReversed().map((found) => [found.name, found]));
  return ordered.flatMap((found) => {
    const agent = once.get(found.name) === found ? agents.find(({ name }) => name === found.name) : undefined;
    const { score, method, reason } = found;
    return agent ? [{ agent, score, method, reason }] : [];
  });
}

/** The agent with most keywords in the message, else the nearest in meaning, else the router model's choice, else the assistant. */
export async function routeToAgent(
  message: string,
  agents: readonly Agent[],
  { byEmbedding, byModel }: AgentRouteParts,
): Promise<AgentRoute> {
  const bases = agents.map(asBase);
  const named = matchKeywords(message, bases, ({ keywords }) => keywords);
  const most = named[0]?.words.length ?? 0;
  const equals = named.filter(({ words }) => words.length === most);
  const byWords = named.map(({ base, words }): Found => {
    const reason = `the message has ${words.map((word) => `"${word}"`).join(", ")}`;
    return { name: base.prefix, score: ((KEYWORD_CONFIDENCE / equals.length) * words.length) / most, method: "rule", reason };
  });
  const choose = (found: readonly Found[], { reason } = found[0] ?? { reason: "" }): AgentRoute => {
    const agent = agents.find(({ name }) => name === found[0]?.name) ?? null;
    return { agent, reason, matches: agent ? toMatches(agents, found) : [] };
  };
  if (equals.length === 1) return choose(byWords);
  if (equals.length === 0 && isCourtesy(message)) return choose([], { reason: "small talk" });
  const candidates = equals.length > 0 ? equals.map(({ base }) => base) : bases;
  const near = await byEmbedding?.(candidates, equals.length > 0);
  if (near?.prefix) {
    const { prefix, confidence, reason } = near;
    return choose([{ name: prefix, score: confidence, method: "embedding", reason }, ...byMeaning(near), ...byWords]);
  }
  const chosen = await byModel?.(candidates);
  if (chosen) {
    const { name, confidence, reason } = chosen;
    return choose([{ name, score: confidence, method: "llm", reason: reason || "the router model chose it" }, ...byWords]);
  }
  return choose(byWords, { reason: near?.reason ?? byWords[0]?.reason ?? "no agent fits the message" });
}

const MOST_MATCHES = 10;

/** The agent that routing chooses, then the others that fit by words or by meaning, best first. None: the assistant would answer. */
export async function matchAgents(message: string, agents: readonly Agent[], parts: AgentRouteParts): Promise<AgentMatch[]> {
  const { matches } = await routeToAgent(message, agents, parts);
  const isByWords = matches.some(({ method }) => method === "rule"); // then meaning was not asked, or of some
  const near = isByWords ? await parts.byEmbedding?.(agents.map(asBase), false) : null;
  const found = matches.map(({ agent, ...match }): Found => ({ ...match, name: agent.name }));
  return toMatches(agents, [...found, ...(near ? byMeaning(near) : [])]).slice(0, MOST_MATCHES);
}
