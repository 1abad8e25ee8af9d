import { quoteLines } from "./fence.ts";

/** Scripts with about one token a character. */
export const WIDE_CHARACTER = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
/** OpenAI's rule of thumb; prose has 4.3 to 4.8. */
const LATIN_CHARACTERS_PER_TOKEN = 4;
/** Role and separators: https://github.com/openai/openai-cookbook (How to count tokens). */
export const TOKENS_PER_MESSAGE = 4;

export function messageTokens(messages: readonly { tokenCount: number }[]): number {
  return messages.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
}

/** Numbers are cut into threes, and marks are tokens of their own. */
function isDigitOrMark(code: number): boolean {
  const lowerCase = code | 0x20;
  return code > 0x20 && code < 0x80 && !(lowerCase >= 0x61 && lowerCase <= 0x7a);
}

/** Tokens before rounding up, so that parts add up: Han, Kana and Hangul 1 a character, Latin 1/4, emoji 2, all else 1/2. */
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

/** Estimates 0.8 to 1.8 times the tokens of o200k_base in prose and code, 0.45 times in UUIDs and base64. */
export function estimateTokens(text: string): number {
  return Math.ceil(tokenWeight(text));
}

/** The beginning's share of a shortened text. A question usually stands at the end. */
const HEAD = 0.6;
const MARK_TOKENS = 12;

/** How many of the first characters fit into `tokens`. */
function take(characters: string[], tokens: number): number {
  let count = Math.min(characters.length, tokens * 4);
  while (count > 0 && estimateTokens(characters.slice(0, count).join("")) > tokens) count = Math.floor(count * 0.8);
  return count;
}

/** Shortens a text to its beginning, a mark of what is left out, and its end. */
export function shortenText(text: string, maxTokens: number): string {
  if (estimateTokens(text) <= maxTokens) return text;
  const characters = [...text];
  const room = Math.max(0, maxTokens - MARK_TOKENS);
  const head = take(characters, Math.floor(room * HEAD));
  const tail = take(characters.toReversed(), room - Math.floor(room * HEAD));
  const left = characters.length - head - tail;
  return `${characters.slice(0, head).join("")} […${left} characters left out…] ${tail === 0 ? "" : characters.slice(-tail).join("")}`;
}

/** Shortens a text to `maxTokens` including the "> " of each fenced line. */
export function shortenQuoted(text: string, maxTokens: number): string {
  for (let room = maxTokens; ;) {
    const shorter = shortenText(text, room);
    const over = estimateTokens(quoteLines(shorter)) - maxTokens;
    if (over <= 0 || room <= 0) return shorter;
    room -= over;
  }
}

const ELLIPSIS = "…";

/** The first whole words of a long sentence and "…"; "" when not even that fits. */
export function shortenSentence(sentence: string, maxTokens: number): string {
  const limit = Math.floor(maxTokens);
  if (estimateTokens(sentence.slice(0, 4 * limit + 1)) <= limit) return sentence;
  let weight = tokenWeight(ELLIPSIS);
  let beginning = "";
  for (const character of sentence) {
    weight += tokenWeight(character);
    if (weight > limit) break;
    beginning += character;
  }
  const space = beginning.lastIndexOf(" ");
  const whole = (space > beginning.length / 2 ? beginning.slice(0, space) : beginning).replace(/(?<![\s…])[\s…]+$/, "");
  return whole === "" ? "" : whole + ELLIPSIS;
}
