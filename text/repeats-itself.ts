import { sameWords } from "./same-words.ts";
import { splitSentences } from "./split-sentences.ts";

const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{L}\p{N}]+/gu;
/** Four repeated words in a row are a repetition. */
const ROW = 4;
/** Shorter texts may repeat themselves. */
const LEAST_ROWS = 12;
const LEAST_SENTENCES = 3;
const LEAST_WORDS = 8;
/** Rows at the end that are read by themselves: a looping model does not stop. */
const END_ROWS = 200;
const LEAST_NEW = 0.4;
const MOST_CHARACTERS = 40_000;

function isMostlyOld(rows: readonly string[]): boolean {
  return rows.length >= LEAST_ROWS && new Set(rows).size < LEAST_NEW * rows.length;
}

function loops(text: string): boolean {
  const words = text.slice(-MOST_CHARACTERS).toLowerCase().match(WORD) ?? [];
  const rows = words.slice(ROW - 1).map((_, index) => words.slice(index, index + ROW).join(" "));
  return isMostlyOld(rows) || isMostlyOld(rows.slice(-END_ROWS));
}

/** Whether the words or half of the sentences of a text repeat, as in a looping model's answer. */
export function repeatsItself(text: string): boolean {
  if (loops(text)) return true;
  const sentences = splitSentences(text).map(sameWords);
  const words = sentences.join(" ").match(WORD)?.length ?? 0;
  return sentences.length >= LEAST_SENTENCES && words >= LEAST_WORDS && 2 * new Set(sentences).size <= sentences.length;
}

const LOOP_CHARACTERS = 2_000;
/** The least letters of these rows: a model that must write JSON may go on with blanks. */
const LEAST_LETTERS = 200;
const LETTER = /[\p{L}\p{N}]/gu;

/** Reads a growing text; true once it repeats itself. */
export function makeLoopDetector(): (text: string) => boolean {
  let read = 0;
  return (text) => {
    if (text.length < read + LOOP_CHARACTERS) return false;
    read = text.length;
    return loops(text) || (text.slice(-LOOP_CHARACTERS).match(LETTER)?.length ?? 0) < LEAST_LETTERS;
  };
}
