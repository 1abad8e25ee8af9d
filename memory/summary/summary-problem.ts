import { lexicalText } from "../../text/lexical-text.ts";
import { repeatsItself } from "../../text/repeats-itself.ts";

/** Why a text is no summary of what was said. */
export type SummaryProblem = "repeats_itself" | "foreign_script" | "shares_nothing";

const SCRIPTS = ["Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Arabic", "Hebrew", "Greek", "Devanagari", "Thai"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "gu"),
);
/** Names and terms of another script are fewer letters than this share. */
const FOREIGN_SHARE = 0.3;

function shareOf(script: RegExp, text: string): number {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return letters === 0 ? 0 : (text.match(script)?.length ?? 0) / letters;
}

/** Words with which any summary tells what was said. */
const TELLING = new Set(
  lexicalText(
    "summary summarise user assistant conversation message earlier say said tell told talk speak ask answer mention discuss 用户 助手 总结 对话 提到 表示 询问 回答 说",
  ).split(" "),
);
const HAN = /\p{Script=Han}/u;
const SINGLE_HAN = /^\p{Script=Han}$/u;

/** Names, numbers and other words that say something; of Chinese pairs of characters. */
function wordsOf(text: string): Set<string> {
  return new Set(
    lexicalText(text)
      .split(" ")
      .filter((word) => word !== "" && !TELLING.has(word) && !SINGLE_HAN.test(word)),
  );
}

/** Fewer words are too few to judge by their share. */
const LEAST_WORDS = 4;
const LEAST_SHARE = 0.2;
/** Half of the pairs of Chinese characters are no words. */
const LEAST_SHARE_OF_PAIRS = 0.1;
/** Of so many words that were said, one at least comes again, up to four. */
const WORDS_FOR_ONE = 20;

/** What is wrong with a summary of this source; null when nothing is. */
export function summaryProblem(summary: string, source: string): SummaryProblem | null {
  if (repeatsItself(summary)) return "repeats_itself";
  if (SCRIPTS.some((script) => shareOf(script, summary) > FOREIGN_SHARE && shareOf(script, source) < FOREIGN_SHARE / 10))
    return "foreign_script";
  const said = wordsOf(source);
  const told = [...wordsOf(summary)];
  const shared = told.filter((word) => said.has(word)).length;
  const pairs = told.filter((word) => HAN.test(word)).length;
  const least = LEAST_SHARE * (told.length - pairs) + LEAST_SHARE_OF_PAIRS * pairs;
  const isForeign = told.length >= LEAST_WORDS && shared < least;
  return isForeign || shared < Math.min(LEAST_WORDS, Math.floor(said.size / WORDS_FOR_ONE)) ? "shares_nothing" : null;
}
