import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import { isStopWord } from "../../stores/search/stop-words.ts";

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
