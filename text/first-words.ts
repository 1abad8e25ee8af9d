const WORDS = new Intl.Segmenter(undefined, { granularity: "word" });
const WIDE = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE4F\uFF00-\uFF60\uFFE0-\uFFE6\p{Emoji_Presentation}]/u;
const TRAILING_MARKS = /(?<![\p{P}\s])[\p{P}\s]+$/u;

const MOST_LETTERS = 60;

const widthOf = (text: string): number => [...text].reduce((width, letter) => width + (WIDE.test(letter) ? 2 : 1), 0);

/** One line of at most 60 letters from the start of a text. A Chinese character counts twice; no word is cut. */
export function firstWords(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  if (widthOf(line) <= MOST_LETTERS) return line;
  let kept = "";
  let width = 1; // of the ellipsis
  for (const { segment } of WORDS.segment(line)) {
    width += widthOf(segment);
    if (width > MOST_LETTERS) break;
    kept += segment;
  }
  const words = kept.replace(TRAILING_MARKS, "");
  return `${words === "" ? [...line].slice(0, MOST_LETTERS / 2).join("") : words}…`;
}
