/** Scripts whose characters are about one token each in the byte-pair vocabularies of today's models. */
const WIDE_CHARACTER = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
/** Characters of Latin text per token; OpenAI's rule of thumb is 4, measured on prose 4.3 to 4.8: 4 stays on the safe side. */
const LATIN_CHARACTERS_PER_TOKEN = 4;
/** What a chat message costs besides its text: role and separators. https://github.com/openai/openai-cookbook (How to count tokens) */
export const TOKENS_PER_MESSAGE = 4;

/** ASCII digits and punctuation: numbers are cut into threes, and marks between words are tokens of their own. */
function isDigitOrMark(code: number): boolean {
  const lowerCase = code | 0x20;
  return code > 0x20 && code < 0x80 && !(lowerCase >= 0x61 && lowerCase <= 0x7a);
}

/**
 * About how many tokens a text is, in any script, without a vocabulary: Han, Kana and Hangul 1 a character, Latin letters and spaces
 * 1/4, emoji 2, everything else 1/2. Against o200k_base: 0.8 to 1.8 for prose, code, JSON and numbers, 0.45 for UUIDs and base64.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (isDigitOrMark(code)) tokens += 1 / 2;
    else if (code < 0x250) tokens += 1 / LATIN_CHARACTERS_PER_TOKEN;
    else if (WIDE_CHARACTER.test(character)) tokens += 1;
    else tokens += code > 0xffff ? 2 : 1 / 2;
  }
  return Math.ceil(tokens);
}
