import { AppError } from "../errors/app-error.ts";
import type { AgentType, RouteDecision } from "../graph/state.ts";
import type { KnowledgeBase } from "../stores/knowledge-catalog.ts";

/** The kb_prefix that means: no documents. */
export const GENERAL = "general";

const HAN = /\p{Script=Han}/u;

function mentions(message: string, keyword: string): boolean {
  const wanted = keyword.toLowerCase();
  if (wanted === "") return false;
  if (HAN.test(wanted)) return message.includes(wanted);
  const found = (from: number): boolean => {
    const at = message.indexOf(wanted, from);
    if (at < 0) return false;
    const isWordPart = (character: string | undefined): boolean =>
      character !== undefined && /[\p{L}\p{N}_]/u.test(character) && !HAN.test(character);
    return (!isWordPart(message[at - 1]) && !isWordPart(message[at + wanted.length])) || found(at + 1);
  };
  return found(0);
}

/** Throws AppError `invalid_request` when a caller names a knowledge base that does not exist. */
export function assertKnowledgeBase(requested: string | null, bases: KnowledgeBase[]): void {
  if (requested === null || requested === GENERAL || bases.some((base) => base.prefix === requested)) return;
  const known = [GENERAL, ...bases.map((base) => base.prefix)].join(", ");
  throw AppError.invalid([{ field: "kb_prefix", problem: `there is no knowledge base "${requested}"; known ones: ${known}` }]);
}

/**
 * Which knowledge base a message is for: the one the caller named, else the one with the most keywords in the message, else none.
 * Throws AppError `invalid_request` for an unknown `requested`.
 */
export function decideRoute({
  message,
  requested,
  agentType,
  bases,
}: {
  message: string;
  requested: string | null;
  agentType: AgentType;
  bases: KnowledgeBase[];
}): RouteDecision {
  assertKnowledgeBase(requested, bases);
  const decision = (kb_prefix: string, confidence: number, method: RouteDecision["method"], reason: string): RouteDecision => {
    return { kb_prefix, worker_name: `${kb_prefix}:${agentType}`, confidence, method, reason };
  };
  if (requested !== null) return decision(requested, 1, "requested", "the caller named it");
  if (agentType === "chat_agent") return decision(GENERAL, 1, "rule", "chat_agent uses no documents");

  const text = message.toLowerCase();
  const matches = bases
    .map((base) => ({ base, words: base.keywords.filter((keyword) => mentions(text, keyword)) }))
    .filter(({ words }) => words.length > 0);
  const best = matches.sort((one, other) => other.words.length - one.words.length)[0];
  if (!best) return decision(GENERAL, bases.length === 0 ? 1 : 0.5, "default", "no knowledge base fits the message");
  const rivals = matches.filter(({ words }) => words.length === best.words.length).length;
  return decision(best.base.prefix, 0.9 / rivals, "rule", `the message has ${best.words.map((word) => `"${word}"`).join(", ")}`);
}
