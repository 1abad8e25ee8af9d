import { lexicalText } from "./lexical-text.ts";
import { scriptOf } from "./script-of.ts";

/** The letters and digits of a text in lower case, for comparing. */
export function sameWords(text: string): string {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
}

/** The least words of a sentence; "Yes." is none. */
const LEAST_WORDS = 2;
const wordsOf = (text: string): string[] => lexicalText(text).match(/\S{2,}/gu) ?? [];

/** Whether an answer has words of its own besides stop words. */
export function hasWords(answer: string): boolean {
  return new Set(wordsOf(answer)).size >= LEAST_WORDS;
}

/** Whether two texts of one script share no word. False when one has none. */
export function sharesNothing(one: string, other: string): boolean {
  const [known, words] = [new Set(wordsOf(one)), wordsOf(other)];
  return scriptOf(one) === scriptOf(other) && known.size > 0 && words.length > 0 && !words.some((word) => known.has(word));
}
