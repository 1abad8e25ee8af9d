/** Words and characters that fit most models, of which many read 512 tokens and some servers refuse more. */
const MAX_WORDS = 400;
const MAX_CHARACTERS = 1_500;
const ROOM = MAX_WORDS * MAX_CHARACTERS;
/** A longer word counts as several: a key or an address has many tokens. */
const LETTERS_OF_A_WORD = 8;
const PIECE =
  /(?<character>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])|[^\s\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,32}/gu;

/** The beginning of a text, about 400 words or 1,500 Chinese characters or a mixture; never empty, as servers refuse empty texts. */
export function cutForEmbedding(text: string): string {
  const whole = text.slice(0, MAX_WORDS * 32).toWellFormed();
  let used = 0;
  for (const { 0: piece, index, groups } of whole.matchAll(PIECE)) {
    used += groups?.character === undefined ? Math.ceil(piece.length / LETTERS_OF_A_WORD) * MAX_CHARACTERS : MAX_WORDS;
    if (used > ROOM) return whole.slice(0, index).trim();
  }
  return whole.trim() || ".";
}
