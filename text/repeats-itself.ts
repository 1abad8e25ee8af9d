const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{L}\p{N}]+/gu;
/** Four words in a row that were said before are a repetition. */
const ROW = 4;
/** Shorter texts may repeat what they like. */
const LEAST_ROWS = 40;
/** Of a long text the end is read by itself: a model that loops does not stop any more. */
const END_ROWS = 200;
const LEAST_NEW = 0.4;
const MOST_CHARACTERS = 40_000;

function isMostlyOld(rows: readonly string[]): boolean {
  return rows.length >= LEAST_ROWS && new Set(rows).size < LEAST_NEW * rows.length;
}

/** Whether a text says the same again and again, as models do that loop. */
export function repeatsItself(text: string): boolean {
  const words = text.slice(-MOST_CHARACTERS).toLowerCase().match(WORD) ?? [];
  const rows = words.slice(ROW - 1).map((_, index) => words.slice(index, index + ROW).join(" "));
  return isMostlyOld(rows) || isMostlyOld(rows.slice(-END_ROWS));
}
