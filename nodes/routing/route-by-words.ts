import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { isStopWord, lexicalText } from "../../text/lexical-text.ts";
import { tellsOfOneself } from "../../text/telling-or-asking.ts";
import { type RetrievalMode, DEFAULT_RETRIEVAL, type RouteDecision, GENERAL } from "../../turn/state.ts";

// How often each way is right: docs/decisions/0032.
export const KEYWORD_CONFIDENCE = 0.9;
const COURTESY_CONFIDENCE = 0.98;
const DEFAULT_CONFIDENCE = 0.4;

const HAN = /\p{Script=Han}/u;
const ACRONYM = /^\p{Lu}{2,4}$/u;
/** A shorter prefix is often an abbreviation or a word such as "it". */
const SHORTEST_NAME = 3;

/** The worker is the caller's agent type, else that of the base. */
export function makeDecision(
  kb_prefix: string,
  { agentType, bases }: Pick<WordQuestion, "agentType" | "bases">,
  { method, confidence, reason }: Pick<RouteDecision, "method" | "confidence" | "reason">,
): RouteDecision {
  const agent = agentType ?? bases.find(({ prefix }) => prefix === kb_prefix)?.worker ?? DEFAULT_RETRIEVAL;
  return { kb_prefix, worker_name: `${kb_prefix}:${agent}`, confidence, method, reason };
}

const ENGLISH_FILLER =
  /^(?:oh|well|so|and|very|much|really|a|lot|all|again|then|too|to|you|there|everyone|everybody|my|dear|friend|assistant|bot|for|your|the|help|that|this|now|today)$/;
const ENGLISH_TALK =
  /\b(?:good (?:morning|afternoon|evening|night|day)|how (?:are|is it|are things|'s it) (?:you|going)(?: doing)?|what'?s up|nice to (?:meet|see) you|see you(?: (?:later|soon|tomorrow))?|have a (?:nice|good|great) (?:day|evening|weekend)|thank you|thanks|thx|cheers|hi|hello|hey|bye|goodbye|good ?night|you'?re welcome|never ?mind|got it|i see|ok(?:ay)?|yes|yeah|no|sure|great|cool|perfect|nice|wonderful|awesome|haha+|lol|sorry)\b/g;
const CHINESE_TALK =
  /(?:大家|你们?|您)?(?:早上好|上午好|中午好|下午好|晚上好|早安|晚安|早啊?|你好|您好|大家好|嗨|哈[喽啰]|在吗|最近(?:怎么样|还好吗|好吗)|吃了吗|好久不见|谢谢|多谢|感谢|谢了|辛苦了?|麻烦了|不客气|没关系|没事|对不起|不好意思|抱歉|再见|拜拜|回头见|明天见|好的?|行|可以|嗯+|哦+|是的|对的?|不用了?|知道了|明白了|懂了|收到|哈{2,}|嘻{2,}|太好了|真棒|不错)/g;
const CHINESE_FILLER = /^[你您们啊呀呢吧哦嗯啦吗了的哈很非常太真都大家那就先老师朋友帮忙你的]*$/u;
const LONGEST_COURTESY = 60;

/** Whether a message is only greeting or thanks: it has such a phrase, and all other words are filler. text/small-talk.ts is laxer. */
export function isCourtesy(message: string): boolean {
  const text = message.normalize("NFKC").toLowerCase().replaceAll("’", "'");
  if (text.length > LONGEST_COURTESY || /\d/.test(text)) return false;
  const words = text.replace(/[^\p{L}\p{N}' ]+/gu, " ").trim();
  if (words === "") return true;
  const left = words.replace(ENGLISH_TALK, " ").replace(CHINESE_TALK, " ");
  if (left === words) return false;
  return left.split(/\s+/).every((word) => ENGLISH_FILLER.test(word) || CHINESE_FILLER.test(word));
}

/** Throws AppError `invalid_request` when a caller names a knowledge base that does not exist. */
export function assertKnowledgeBase(requested: string | null, bases: readonly KnowledgeBase[]): void {
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

/** The word itself and its English singular or plural. */
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

/** The keywords, and the base's prefix when it reads like words. */
function keywordsWithName({ prefix, keywords }: KnowledgeBase): string[] {
  const name = prefix.replace(/[-_.]+/g, " ");
  const isKnown = keywords.some((keyword) => wordForms(keyword.toLowerCase()).includes(name.toLowerCase()));
  return isKnown || (!HAN.test(name) && name.length < SHORTEST_NAME) || isStopWord(name) ? keywords : [...keywords, name];
}

/** The bases with keywords in the message, most first. English keywords match whole words. */
export function matchKeywords(
  message: string,
  bases: readonly KnowledgeBase[],
  wordsOf = keywordsWithName,
): { base: KnowledgeBase; words: string[] }[] {
  return bases
    .map((base) => ({ base, words: [...new Set(wordsOf(base))].filter((word) => hasKeyword(message, word)) }))
    .filter(({ words }) => words.length > 0)
    .sort((one, other) => other.words.length - one.words.length);
}

interface WordQuestion {
  message: string;
  requested: string | null;
  /** Null: the caller chose none. */
  agentType: RetrievalMode | null;
  bases: readonly KnowledgeBase[];
}

/**
 * Routes to the requested base, else to the one with most keywords in the message, else to the only one, else to none. `candidates`: the
 * bases that words do not decide between, with equally many keywords, or all. Throws AppError `invalid_request` for an unknown `requested`
 * base.
 */
export function routeByWords(asked: WordQuestion): { decision: RouteDecision; candidates: readonly KnowledgeBase[] } {
  const { message, requested, agentType, bases } = asked;
  assertKnowledgeBase(requested, bases);
  type Method = RouteDecision["method"];
  const to = (prefix: string, confidence: number, method: Method, reason: string, candidates: readonly KnowledgeBase[] = []) => {
    return { decision: makeDecision(prefix, asked, { confidence, method, reason }), candidates };
  };
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
  if (isCourtesy(message)) return to(GENERAL, COURTESY_CONFIDENCE, "default", "small talk");
  const [only, ...more] = bases;
  if (only && more.length === 0 && !tellsOfOneself(message))
    return to(only.prefix, DEFAULT_CONFIDENCE, "default", "it is the only knowledge base; what fits of it is used");
  return to(GENERAL, DEFAULT_CONFIDENCE, "default", "no knowledge base fits the message", bases);
}

/** Not measured: it stands in while the embedder is away. */
const SHARED_CONFIDENCE = 0.5;
const SHORTEST_SHARED = 2;

/** The one base whose description, keywords and titles have most words of the message, or null. */
export function routeBySharedWords(asked: Omit<WordQuestion, "requested">): RouteDecision | null {
  const words = new Set(lexicalText(asked.message).split(" "));
  const [best, second] = asked.bases
    .map(({ prefix, description, keywords, titles = [] }) => {
      const said = new Set(lexicalText([description, ...keywords, ...titles].join("\n")).split(" "));
      return { prefix, words: [...said].filter((word) => word.length >= SHORTEST_SHARED && words.has(word)) };
    })
    .sort((one, other) => other.words.length - one.words.length);
  if (!best || best.words.length === 0 || best.words.length === second?.words.length) return null;
  const reason = `there is no meaning without the embedder; words in common: ${best.words.join(", ")}`;
  return makeDecision(best.prefix, asked, { method: "rule", confidence: SHARED_CONFIDENCE, reason });
}
