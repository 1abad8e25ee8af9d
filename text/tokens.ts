import { quoteLines } from "./fence.ts";

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
 * The tokens of a text before they are rounded up, so that the weights of parts add up to that of the whole: Han, Kana and Hangul 1 a
 * character, Latin letters and spaces 1/4, emoji 2, everything else 1/2.
 */
export function tokenWeight(text: string): number {
  let tokens = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (isDigitOrMark(code)) tokens += 1 / 2;
    else if (code < 0x250) tokens += 1 / LATIN_CHARACTERS_PER_TOKEN;
    else if (WIDE_CHARACTER.test(character)) tokens += 1;
    else tokens += code > 0xffff ? 2 : 1 / 2;
  }
  return tokens;
}

/** About how many tokens a text has, in any script: 0.8 to 1.8 times as many as o200k_base for prose and code, 0.45 times for UUIDs and base64. */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** Share of the kept text that comes from the beginning; the rest is the end, where a question usually stands. */
const HEAD = 0.6;
/** Tokens of the mark in the middle. */
const MARK_TOKENS = 12;

/** How many of the first characters have at most so many tokens, about. */
function take(characters: string[], tokens: number): number {
  let count = Math.min(characters.length, tokens * 4);
  while (count > 0 && estimateTokens(characters.slice(0, count).join("")) > tokens) count = Math.floor(count * 0.8);
  return count;
}

/** Shortens a text of more than `maxTokens` to its beginning and end, with a mark of how much is left out in between. */
export function shortenText(text: string, maxTokens: number): string {
  if (estimateTokens(text) <= maxTokens) return text;
  const characters = [...text];
  const room = Math.max(0, maxTokens - MARK_TOKENS);
  const head = take(characters, Math.floor(room * HEAD));
  const tail = take(characters.toReversed(), room - Math.floor(room * HEAD));
  const left = characters.length - head - tail;
  return `${characters.slice(0, head).join("")} […${left} characters left out…] ${tail === 0 ? "" : characters.slice(-tail).join("")}`;
}

/** Shortens a text to `maxTokens` as it stands in a fence, with a mark before each line. */
export function shortenQuoted(text: string, maxTokens: number): string {
  for (let room = maxTokens; ;) {
    const shorter = shortenText(text, room);
    const over = estimateTokens(quoteLines(shorter)) - maxTokens;
    if (over <= 0 || room <= 0) return shorter;
    room -= over;
  }
}
