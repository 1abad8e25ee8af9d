import { AppError } from "../../errors/app-error.ts";
import type { AgentType, RouteDecision } from "../../turn/state.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { DEFAULT_CONFIDENCE, RULE_CONFIDENCE, SMALL_TALK_CONFIDENCE } from "./nearness.ts";
import { isStopWord } from "../../text/lexical-text.ts";

/** A base, and those of its words that a message has. */
export interface KeywordMatch {
  base: KnowledgeBase;
  words: string[];
}

const HAN = /\p{Script=Han}/u;
const ACRONYM = /^\p{Lu}{2,4}$/u;
/** A shorter name is as likely an abbreviation of something else, or a word such as "it". */
const SHORTEST_NAME = 3;

const isWordPart = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character) && !HAN.test(character);

function hasWord(message: string, word: string): boolean {
  for (let at = message.indexOf(word); at >= 0; at = message.indexOf(word, at + 1))
    if (!isWordPart(message[at - 1]) && !isWordPart(message[at + word.length])) return true;
  return false;
}

/** The word itself, and in English its singular or plural: no more, since "training" is no "train". */
function formsOf(word: string): string[] {
  if (!/[a-z]{3}$/.test(word)) return [word];
  if (/[^aeiou]y$/.test(word)) return [word, `${word.slice(0, -1)}ies`];
  if (/ies$/.test(word)) return [word, `${word.slice(0, -3)}y`];
  if (/(?:s|x|z|ch|sh)es$/.test(word)) return [word, word.slice(0, -2), word.slice(0, -1)];
  if (/(?:ss|us|is|x|z|ch|sh)$/.test(word)) return [word, `${word}es`];
  return [word, word.endsWith("s") ? word.slice(0, -1) : `${word}s`];
}

function mentions(message: string, keyword: string): boolean {
  if (keyword.trim() === "") return false;
  const wanted = keyword.toLowerCase();
  if (ACRONYM.test(keyword) && isStopWord(wanted)) return hasWord(message, keyword); // IT is not "it"
  const text = message.toLowerCase();
  return HAN.test(wanted) ? text.includes(wanted) : formsOf(wanted).some((form) => hasWord(text, form));
}

/** The keywords of a base, and its name as one more when it reads like words. */
function wordsOf({ prefix, keywords }: KnowledgeBase): string[] {
  const name = prefix.replace(/[-_.]+/g, " ");
  const isKnown = keywords.some((keyword) => formsOf(keyword.toLowerCase()).includes(name.toLowerCase()));
  return isKnown || (!HAN.test(name) && name.length < SHORTEST_NAME) || isStopWord(name) ? keywords : [...keywords, name];
}

/** The bases of which the message has words, most words first. English words match as a whole, Chinese ones anywhere. */
export function keywordMatches(message: string, bases: readonly KnowledgeBase[]): KeywordMatch[] {
  return bases
    .map((base) => ({ base, words: [...new Set(wordsOf(base))].filter((word) => mentions(message, word)) }))
    .filter(({ words }) => words.length > 0)
    .sort((one, other) => other.words.length - one.words.length);
}

/** Words that say nothing by themselves around a greeting or thanks. */
const ENGLISH_FILLER =
  /^(?:oh|well|so|and|very|much|really|a|lot|all|again|then|too|to|you|there|everyone|everybody|my|dear|friend|assistant|bot|for|your|the|help|that|this|now|today)$/;
const ENGLISH_TALK =
  /\b(?:good (?:morning|afternoon|evening|night|day)|how (?:are|is it|are things|'s it) (?:you|going)(?: doing)?|what'?s up|nice to (?:meet|see) you|see you(?: (?:later|soon|tomorrow))?|have a (?:nice|good|great) (?:day|evening|weekend)|thank you|thanks|thx|cheers|hi|hello|hey|bye|goodbye|good ?night|you'?re welcome|never ?mind|got it|i see|ok(?:ay)?|yes|yeah|no|sure|great|cool|perfect|nice|wonderful|awesome|haha+|lol|sorry)\b/g;
const CHINESE_TALK =
  /(?:大家|你们?|您)?(?:早上好|上午好|中午好|下午好|晚上好|早安|晚安|早啊?|你好|您好|大家好|嗨|哈[喽啰]|在吗|最近(?:怎么样|还好吗|好吗)|吃了吗|好久不见|谢谢|多谢|感谢|谢了|辛苦了?|麻烦了|不客气|没关系|没事|对不起|不好意思|抱歉|再见|拜拜|回头见|明天见|好的?|行|可以|嗯+|哦+|是的|对的?|不用了?|知道了|明白了|懂了|收到|哈{2,}|嘻{2,}|太好了|真棒|不错)/g;
const CHINESE_FILLER = /^[你您们啊呀呢吧哦嗯啦吗了的哈很非常太真都大家那就先老师朋友帮忙你的]*$/u;
/** A longer message says something else as well. */
const LONGEST = 60;

/**
 * Whether a message is a greeting, thanks or the like and nothing else: no document answers it, so no model is asked which. Misses are
 * cheap, a question taken for small talk is not: every word must be known.
 */
export function isSmallTalk(message: string): boolean {
  const text = message.normalize("NFKC").toLowerCase().replaceAll("’", "'");
  if (text.length > LONGEST || /\d/.test(text)) return false;
  const words = text.replace(/[^\p{L}\p{N}' ]+/gu, " ").trim();
  if (words === "") return true;
  const left = words.replace(ENGLISH_TALK, " ").replace(CHINESE_TALK, " ");
  if (left === words) return false;
  return left
    .split(/\s+/)
    .filter((word) => word !== "")
    .every((word) => ENGLISH_FILLER.test(word) || CHINESE_FILLER.test(word));
}

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
