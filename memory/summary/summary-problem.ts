import { lexicalText } from "../../text/lexical-text.ts";
import { repeatsItself } from "../../text/repeats-itself.ts";
import { sameWords } from "../../text/same-words.ts";
import { splitSentences } from "../../text/split-sentences.ts";
import type { SummaryInput } from "./summarise-conversation.ts";
import { tellsUnsaidNames } from "./unsaid-names.ts";

/** Why a text is no summary of what was said. */
export type SummaryProblem = "repeats_itself" | "foreign_script" | "shares_nothing" | "unsaid_names";

const SCRIPTS = ["Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Arabic", "Hebrew", "Greek", "Devanagari", "Thai"].map(
  (script) => new RegExp(`\\p{Script=${script}}`, "gu"),
);
/** Names and terms of another script are fewer letters than this share. */
const FOREIGN_SHARE = 0.3;

function shareOf(script: RegExp, text: string): number {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return letters === 0 ? 0 : (text.match(script)?.length ?? 0) / letters;
}

const scriptOf = (text: string): RegExp | undefined => SCRIPTS.find((script) => shareOf(script, text) > 0.5);

/** Words with which any summary tells what was said. */
const TELLING = new Set(
  lexicalText(
    "summary summarise user assistant conversation message earlier say said tell told talk speak ask answer mention discuss 用户 助手 总结 对话 提到 表示 询问 回答 说",
  ).split(" "),
);
const HAN = /\p{Script=Han}/u;
const SINGLE_HAN = /^\p{Script=Han}$/u;

/** Names, numbers and other meaningful words; pairs of Chinese characters. */
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
/** At least one of so many words of the user, up to four, must come again. */
const WORDS_FOR_ONE = 20;

const sharedOf = (told: readonly string[], said: ReadonlySet<string>): number => told.filter((word) => said.has(word)).length;

/** What is wrong with a summary, or null. The assistant's repetitions count as unsaid. */
export function summaryProblem(
  summary: string,
  { previous, messages }: Pick<SummaryInput, "previous" | "messages">,
): SummaryProblem | null {
  if (repeatsItself(summary)) return "repeats_itself";
  const times = new Map<string, number>();
  const answers = messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  for (const answer of answers) times.set(sameWords(answer), (times.get(sameWords(answer)) ?? 0) + 1);
  const isBabble = (answer: string): boolean => (times.get(sameWords(answer)) ?? 0) > 1 || repeatsItself(answer);
  const ofUser = [previous ?? "", ...messages.filter(({ role }) => role === "user").map(({ content }) => content)].join("\n");
  const source = [ofUser, ...answers.filter((answer) => !isBabble(answer))].join("\n");
  if (SCRIPTS.some((script) => shareOf(script, summary) > FOREIGN_SHARE && shareOf(script, source) < FOREIGN_SHARE / 10))
    return "foreign_script";
  const babbled = new Set(answers.filter(isBabble).flatMap(splitSentences).map(sameWords));
  const own = splitSentences(summary.replaceAll("```", "")).filter((sentence) => !babbled.has(sameWords(sentence)));
  const told = [...wordsOf(own.join("\n"))];
  const pairs = told.filter((word) => HAN.test(word)).length;
  const least = LEAST_SHARE * (told.length - pairs) + LEAST_SHARE_OF_PAIRS * pairs;
  const isForeign = told.length >= LEAST_WORDS && sharedOf(told, wordsOf(source)) < least;
  // The assistant, and so the summary, may speak another language than the user.
  const said = wordsOf(scriptOf(ofUser) === scriptOf(summary) ? ofUser : source);
  const fewest = Math.min(LEAST_WORDS, Math.max(said.size >= LEAST_WORDS ? 1 : 0, Math.floor(said.size / WORDS_FOR_ONE)));
  if (own.length === 0 || isForeign || sharedOf(told, said) < fewest) return "shares_nothing";
  return tellsUnsaidNames(summary, source) ? "unsaid_names" : null;
}
