import { dayWords } from "./days.ts";
import { lexicalText } from "./lexical-text.ts";

export const WORD_WEIGHT = 4;
const MAX_WORDS = 200;
/** Question words and phrases about the speakers, longer ones first. */
const CHINESE =
  /还记不记得|还记得|记不记得|你记得|有没有|是不是|能不能|可不可以|什么时候|什么样|为什么|怎么样|是什么|告诉过?[你我]|跟[你我](?:说|讲|提)过?|和[你我](?:说|讲|提)过?|[你我](?:刚才|之前|以前|上次)?(?:说|提|讲)(?:到|过|起)过?|请问|请你?告诉我?|什么|怎么|怎样|如何|多少|几[个位次种只条]|哪[位个些里儿年天种家次]|哪|谁|吗|呢|吧|啊|呀|嘛|(?:我|你|您|他|她|它|咱)们?的?|这个|那个|这些|那些|(?<!目)的(?![士确])|(?<!为)了(?![解不])/gu;
const SINGLE = /^(?![a-z\p{N}]).$/u;

/** Words that `dayWords` writes for every date: 年, 月, 日, 星期, 周. */
const OF_EVERY_DAY: ReadonlySet<string> = wordsOfEveryDay();

function wordsOfEveryDay(): Set<string> {
  const [one = [], other = []] = ["2001-01-01", "2022-12-31"].map((day) => lexicalText(dayWords(new Date(day), "UTC")).split(" "));
  return new Set(one.filter((word) => other.includes(word)));
}

function distinctWords(question: string): string[] {
  const words = [...new Set(lexicalText(question).split(" "))].filter((word) => word !== "" && !OF_EVERY_DAY.has(word));
  return words.length <= MAX_WORDS ? words : [...words.slice(0, MAX_WORDS / 2), ...words.slice(-MAX_WORDS / 2)];
}

/**
 * The words of a question for `searchWords`: words and pairs four times, single characters once. Chinese question words count only when
 * there is nothing else. At most 200 distinct words; empty for stop words alone.
 */
export function lexicalQuery(text: string): string {
  const asked = distinctWords(text.replace(CHINESE, " "));
  const words = asked.length > 0 ? asked : distinctWords(text);
  return words.flatMap((word) => Array.from({ length: SINGLE.test(word) ? 1 : WORD_WEIGHT }, () => word)).join(" ");
}
