import { AppError } from "../../errors/app-error.ts";
import type { AgentType, RouteDecision } from "../../graph/state.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { keywordMatches } from "./keyword-matches.ts";
import { DEFAULT_CONFIDENCE, RULE_CONFIDENCE, SMALL_TALK_CONFIDENCE } from "./routing-confidence.ts";
import { isSmallTalk } from "./small-talk.ts";

/** The kb_prefix that means: no documents. */
export const GENERAL = "general";

/** Throws AppError `invalid_request` when a caller names a knowledge base that does not exist. */
export function assertKnowledgeBase(requested: string | null, bases: KnowledgeBase[]): void {
  if (requested === null || requested === GENERAL || bases.some((base) => base.prefix === requested)) return;
  const known = [GENERAL, ...bases.map((base) => base.prefix)].join(", ");
  throw AppError.invalid([{ field: "kb_prefix", problem: `there is no knowledge base "${requested.slice(0, 80)}"; known ones: ${known}` }]);
}

/** What the words of a message say of its route; `open` are the bases still to choose from: several when words name several as often. */
export interface RuledRoute {
  decision: RouteDecision;
  open: KnowledgeBase[];
}

export interface RouteQuestion {
  message: string;
  requested: string | null;
  agentType: AgentType;
  bases: KnowledgeBase[];
}

/** As `decideRoute`, with the bases that remain to choose from when that is not the last word. */
export function ruleRoute({ message, requested, agentType, bases }: RouteQuestion): RuledRoute {
  assertKnowledgeBase(requested, bases);
  const decided = (
    kb_prefix: string,
    confidence: number,
    method: RouteDecision["method"],
    reason: string,
    open: KnowledgeBase[] = [],
  ): RuledRoute => ({ decision: { kb_prefix, worker_name: `${kb_prefix}:${agentType}`, confidence, method, reason }, open });
  if (requested !== null) return decided(requested, 1, "requested", "the caller named it");
  if (agentType === "chat_agent") return decided(GENERAL, 1, "rule", "chat_agent uses no documents");
  if (bases.length === 0) return decided(GENERAL, 1, "default", "there is no knowledge base");

  const matches = keywordMatches(message, bases);
  const best = matches[0];
  if (best) {
    const rivals = matches.filter(({ words }) => words.length === best.words.length).map(({ base }) => base);
    const reason = `the message has ${best.words.map((word) => `"${word}"`).join(", ")}`;
    return decided(best.base.prefix, RULE_CONFIDENCE / rivals.length, "rule", reason, rivals.length > 1 ? rivals : []);
  }
  if (isSmallTalk(message)) return decided(GENERAL, SMALL_TALK_CONFIDENCE, "default", "small talk");
  return decided(GENERAL, DEFAULT_CONFIDENCE, "default", "no knowledge base fits the message", bases);
}

/**
 * Which knowledge base a message is for by its words alone: the one the caller named, else the one with the most keywords in the message,
 * else none. Throws AppError `invalid_request` for an unknown `requested`.
 */
export function decideRoute(question: RouteQuestion): RouteDecision {
  return ruleRoute(question).decision;
}
