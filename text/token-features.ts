import { WIDE_CHARACTER } from "./tokens.ts";

/** Counted kinds of characters; tokenizers differ in tokens for each. */
export const TEXT_FEATURES = ["words", "letters", "digits", "marks", "wide", "others", "astral"] as const;
/** Estimated tokens for each feature. "words" counts the space between two. */
export const ESTIMATED_TOKENS: readonly number[] = [1 / 4, 1 / 4, 1 / 2, 1 / 2, 1, 1 / 2, 2];

const [WORDS, LETTERS, DIGITS, MARKS, WIDE, OTHERS, ASTRAL] = [0, 1, 2, 3, 4, 5, 6] as const;
const KINDS = TEXT_FEATURES.length;

/** The kind of each ASCII character. */
const ASCII = Uint8Array.from({ length: 0x80 }, (_, code) => {
  if (code <= 0x20 || code === 0x7f) return WORDS;
  if (code >= 0x30 && code <= 0x39) return DIGITS;
  const lowerCase = code | 0x20;
  return lowerCase >= 0x61 && lowerCase <= 0x7a ? LETTERS : MARKS;
});

export function addFeatures(sums: Float64Array, text: string): void {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    let kind: number;
    if (code < 0x80) kind = ASCII[code] ?? MARKS;
    else if (code < 0x250) kind = LETTERS;
    else if (code >= 0xd800 && code <= 0xdbff) {
      kind = ASTRAL;
      index++;
    } else if ((code >= 0x4e00 && code <= 0x9fff) || WIDE_CHARACTER.test(text.charAt(index))) kind = WIDE;
    else kind = OTHERS;
    sums[kind] = (sums[kind] ?? 0) + 1;
  }
}

export const noFeatures = (): Float64Array => new Float64Array(KINDS);
