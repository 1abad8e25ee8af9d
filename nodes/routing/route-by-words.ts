import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { isStopWord } from "../../text/lexical-text.ts";
import type { AgentType, RouteDecision } from "../../turn/state.ts";
import { isCourtesy } from "./courtesy.ts";

/** The kb_prefix that means: no documents. */
export const GENERAL = "general";

/** How often a base named by a keyword is right. */
export const KEYWORD_CONFIDENCE = 0.9;
const SMALL_TALK_CONFIDENCE = 0.98;
/** How often no base is right when no keyword is found. */
const DEFAULT_CONFIDENCE = 0.4;

const HAN = /\p{Script=Han}/u;
const ACRONYM = /^\p{Lu}{2,4}$/u;
/** A shorter prefix is often an abbreviation, or a word such as "it". */
const SHORTEST_NAME = 3;

export interface RouteQuestion {
  message: string;
  requested: string | null;
  agentType: AgentType;
  bases: KnowledgeBase[];
}

/** The route by words, and the bases between which words do not decide. */
export interface WordRoute {
  decision: RouteDecision;
  candidates: KnowledgeBase[];
}

/** Throws AppError `invalid_request` when a caller names a knowledge base that does not exist. */
export function assertKnowledgeBase(requested: string | null, bases: KnowledgeBase[]): void {
  if (requested === null || requested === GENERAL || bases.some((base) => base.prefix === requested)) return;
  const known = [GENERAL, ...bases.map((base) => base.prefix)].join(", ");
  throw AppError.invalid([{ field: "kb_prefix", problem: `there is no knowledge base "${requested.slice(0, 80)}"; known ones: ${known}` }]);
}

const isWordPart = (character = ""): boolean => /[\p{L}\p{N}_]/u.test(character) && !HAN.test(character);

function hasWord(message: string, word: string): boolean {
  for (let at = message.indexOf(word); at >= 0; at = message.indexOf(word, at + 1))
    if (!isWordPart(message[at - 1]) && !isWordPart(message[at + word.length])) return true;
  return false;
}

/** The word itself and its English singular or plural. Other forms mean other things: "training" is no "train". */
function wordForms(word: string): string[] {
  if (!/[a-z]{3}$/.test(word)) return [word];
  if (/[^aeiou]y$/.test(word)) return [word, `${word.slice(0, -1)}ies`];
  if (/ies$/.test(word)) return [word, `${word.slice(0, -3)}y`];
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return [word, word.slice(0, -2), word.slice(0, -1)];
  if (/(?:ss|us|is|x|z|ch|sh)$/.test(word)) return [word, `${word}es`];
  return [word, word.endsWith("s") ? word.slice(0, -1) : `${word}s`];
}

function hasKeyword(message: string, keyword: string): boolean {
  if (keyword.trim() === "") return false;
  const wanted = keyword.toLowerCase();
  if (ACRONYM.test(keyword) && isStopWord(wanted)) return hasWord(message, keyword); // IT is not "it"
  const text = message.toLowerCase();
  return HAN.test(wanted) ? text.includes(wanted) : wordForms(wanted).some((form) => hasWord(text, form));
}

/** The keywords of a base, and its prefix when that reads like words. */
function keywordsWithName({ prefix, keywords }: KnowledgeBase): string[] {
  const name = prefix.replace(/[-_.]+/g, " ");
  const isKnown = keywords.some((keyword) => wordForms(keyword.toLowerCase()).includes(name.toLowerCase()));
  return isKnown || (!HAN.test(name) && name.length < SHORTEST_NAME) || isStopWord(name) ? keywords : [...keywords, name];
}

/** The bases that have keywords in the message, most first. English keywords match whole words, Chinese ones anywhere. */
function matchKeywords(message: string, bases: readonly KnowledgeBase[]): { base: KnowledgeBase; words: string[] }[] {
  return bases
    .map((base) => ({ base, words: [...new Set(keywordsWithName(base))].filter((word) => hasKeyword(message, word)) }))
    .filter(({ words }) => words.length > 0)
    .sort((one, other) => other.words.length - one.words.length);
}

/**
 * Routes to the requested base, else to the one with the most keywords in the message, else to none. Equal bases all remain candidates, and
 * so do all bases when no keyword is found. Throws AppError `invalid_request` when there is no base as `requested`.
 */
export function routeByWords({ message, requested, agentType, bases }: RouteQuestion): WordRoute {
  assertKnowledgeBase(requested, bases);
  type Method = RouteDecision["method"];
  const to = (kb_prefix: string, confidence: number, method: Method, reason: string, candidates: KnowledgeBase[] = []): WordRoute => ({
    decision: { kb_prefix, worker_name: `${kb_prefix}:${agentType}`, confidence, method, reason },
    candidates,
  });
  if (requested !== null) return to(requested, 1, "requested", "the caller named it");
  if (agentType === "chat_agent") return to(GENERAL, 1, "rule", "chat_agent uses no documents");
  if (bases.length === 0) return to(GENERAL, 1, "default", "there is no knowledge base");

  const [best, ...others] = matchKeywords(message, bases);
  if (best) {
    const equals = others.filter(({ words }) => words.length === best.words.length);
    const reason = `the message has ${best.words.map((word) => `"${word}"`).join(", ")}`;
    const candidates = equals.length > 0 ? [best, ...equals].map(({ base }) => base) : [];
    return to(best.base.prefix, KEYWORD_CONFIDENCE / (equals.length + 1), "rule", reason, candidates);
  }
  if (isCourtesy(message)) return to(GENERAL, SMALL_TALK_CONFIDENCE, "default", "small talk");
  return to(GENERAL, DEFAULT_CONFIDENCE, "default", "no knowledge base fits the message", bases);
}
