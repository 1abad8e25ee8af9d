import { lexicalText } from "./lexical-text.ts";
import { scriptOf } from "./script-of.ts";

/** The letters and digits of a text, by which two that differ in marks, blanks and capitals are the same. */
export function sameWords(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

/** The least words of a sentence; fewer are an answer like "Yes." or "Lisbon." */
const LEAST_WORDS = 2;
const wordsOf = (text: string): string[] => lexicalText(text).match(/\S{2,}/gu) ?? [];

/** Whether an answer says something of its own: English stems and pairs of Chinese characters, without stop words. */
export function hasWords(answer: string): boolean {
  return new Set(wordsOf(answer)).size >= LEAST_WORDS;
}

/** Whether two texts of one script have no word in common. False when one of them has none. */
export function sharesNothing(one: string, other: string): boolean {
  const [known, words] = [new Set(wordsOf(one)), wordsOf(other)];
  return scriptOf(one) === scriptOf(other) && known.size > 0 && words.length > 0 && !words.some((word) => known.has(word));
}
