import stem from "wink-porter2-stemmer";
import { eng } from "stopword";
import { chineseNumber } from "./chinese-times.ts";
import { dayWords } from "./days.ts";

const HEAD_CHARACTERS = 20_000;
const TAIL_CHARACTERS = 5_000;
const HEAD_WORDS = 5_000;
const TAIL_WORDS = 2_000;
/** A VarChar of Milvus holds 65,535 bytes. */
const MAX_BYTES = 60_000;
const DAY_OR_MONTH = /(?<!\d)\d+(?=[月日号])/gu;
/** Written without spaces between words. */
const SPACELESS = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
/**
 * Accents, the vowel points that Arabic and Hebrew mostly leave out, and four rare marks at which Postgres splits words. Marks of other
 * scripts are vowels.
 */
const OPTIONAL_MARKS =
  /(?=[\p{Script=Inherited}\p{Script=Cyrillic}\p{Script=Hangul}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\u0CF3\u0ECE\uA9C0\uABEC])\p{M}/gu;
/** Historic scripts, emoji, radicals and newest ideographs: some Postgres versions split words there. */
const RARE = /[^\u{0}-\u{2E7F}\u{2FE0}-\u{FFFF}\u{20000}-\u{2FFFF}]/gu;

let segmenter: Intl.Segmenter | undefined;

/** For text before NFKC, which splits vowels that dictionaries have as one. */
function separateWords(run: string): string {
  segmenter ??= new Intl.Segmenter("th", { granularity: "word" });
  return ` ${Array.from(segmenter.segment(run), ({ segment }) => segment).join(" ")} `;
}

function normalise(text: string): string {
  const cut = text.length <= HEAD_CHARACTERS + TAIL_CHARACTERS ? text : `${text.slice(0, HEAD_CHARACTERS)} ${text.slice(-TAIL_CHARACTERS)}`;
  return cut
    .replace(SPACELESS, separateWords)
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u00C0-\u024F\u1E00-\u1EFF]+/g, (letters) => letters.normalize("NFD"))
    .replace(OPTIONAL_MARKS, "")
    .replace(RARE, " ");
}

function truncateWords(words: readonly string[]): string[] {
  const kept = words.length <= HEAD_WORDS + TAIL_WORDS ? words : [...words.slice(0, HEAD_WORDS), ...words.slice(-TAIL_WORDS)];
  let bytes = 0;
  const end = kept.findIndex((word) => (bytes += Buffer.byteLength(word) + 1) > MAX_BYTES);
  return end === -1 ? [...kept] : kept.slice(0, end);
}

/**
 * The words of a text for keyword ranking: English stems without stop words, identifiers also whole; Chinese, Japanese and Korean
 * characters and pairs; Thai, Lao, Khmer and Burmese words of a dictionary; dates as one word. At most 7,000 words and 60,000 bytes.
 */
export function lexicalText(text: string): string {
  const normal = normalise(text);
  const latin = normal.replace(DAY_OR_MONTH, " ").replace(UNSEGMENTED, " ");
  return truncateWords([...latinWords(latin), ...measureWords(normal), ...unsegmentedWords(normal)]).join(" ");
}

export const lexicalWords = (text: string): string[] => lexicalText(text).split(" ").filter(Boolean);

/** Pronouns and auxiliaries that the package lacks. "may", "will" and "march" are also dates and names. */
const MORE =
  "also does doing done else hers herself hi hello its itself just myself okay ok ours shall she so themselves theirs us when whom whose why yes your yours yourself let".split(
    " ",
  );
/** Stop words of the package that mean something: "what does she like". */
const NOT_STOP_WORDS = new Set(["like", "may", "will"]);
const STOP_WORDS = new Set([...eng, ...MORE].filter((word) => !NOT_STOP_WORDS.has(word)));

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** A word with the marks inside identifiers and addresses: TK-4471, v2.3, a@b.com. */
const TOKEN = /[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*(?:[-._@:/+#][\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*)*/gu;
const PART = /[\p{L}\p{Nd}][\p{L}\p{M}\p{Nd}]*/gu;
const ORDINAL = /^(\d+)(?:st|nd|rd|th)$/;
/** The stemmer spoils other words: "2023" becomes "202i". */
const PLAIN = /^[a-z]+$/;
/** Postgres would split it as a number. */
const LIKE_A_FLOAT = /^\d+e\d/;
const NEGATED_VERB = /\b(?:ai|are|ca|could|did|do|does|had|has|have|is|might|must|need|should|was|were|wo|would)n['’]t\b/g;
const ENDING = /(?<=\p{L})['’](?:s|m|d|re|ve|ll|t)?(?![\p{L}\p{Nd}])/gu;
const LONGEST = 40;

/** A longer substring keeps the whole text in V8's memory. */
const LONGEST_COPIED = 12;
/** Stemming takes a hundred times as long. */
const stems = new Map<string, string>();
const MOST_STEMS = 20_000;

function stemOf(word: string): string {
  if (word.length > LONGEST_COPIED) return stem(word);
  const known = stems.get(word);
  if (known !== undefined) return known;
  if (stems.size >= MOST_STEMS) stems.clear();
  const found = stem(word);
  stems.set(word, found);
  return found;
}

function normaliseWord(word: string): string {
  const cut = word.slice(0, LONGEST).toWellFormed().replaceAll("\uFFFD", "");
  if (PLAIN.test(cut)) return stemOf(cut);
  return LIKE_A_FLOAT.test(cut) ? `x${cut}` : cut;
}

/** Porter2 stems without stop words. Compounds come in parts and joined: tk, 4471, tk4471. */
function latinWords(text: string): string[] {
  const words: string[] = [];
  for (const [token] of text.replace(NEGATED_VERB, " ").replace(ENDING, " ").matchAll(TOKEN)) {
    const parts = token.match(PART) ?? [];
    for (const part of parts) {
      const word = ORDINAL.exec(part)?.[1] ?? part;
      if (!isStopWord(word)) words.push(normaliseWord(word));
    }
    if (parts.length > 1) words.push(normaliseWord(token.replace(/[^\p{L}\p{M}\p{Nd}]/gu, "")));
  }
  return words.filter((word) => word !== "");
}

const DATE_UNITS = /(\d{1,4}|[一二三四五六七八九十]{1,3})([月日号])(?!份?[饼亮球])/gu;
const COUNTED = /(?<!\d)(\d+)(\p{Script=Han})/gu;
const DAY = /(\d{1,2})月(\d{1,2})日/gu;

/** Numbers with their Chinese measure word, and dates also from Chinese numerals: "五月8号" gives 5月 8日 5月8日. */
function measureWords(text: string): string[] {
  const dates = text.replace(DATE_UNITS, (whole, number: string, unit: string) => {
    const value = chineseNumber(number);
    return value > 0 ? `${value}${unit === "号" ? "日" : unit}` : whole;
  });
  const words = [...dates.matchAll(COUNTED)].map(([, number = "", unit = ""]) => `${number.slice(0, 12)}${unit}`);
  for (const [, month = "", day = ""] of dates.matchAll(DAY)) words.push(`${Number(month)}月${Number(day)}日`);
  return words;
}

const UNSEGMENTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;

/** Every character and pair of neighbours: "导演说" gives 导 导演 演 演说 说. */
function unsegmentedWords(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text.matchAll(UNSEGMENTED)) {
    const characters = [...run];
    for (const [index, character] of characters.entries()) {
      const next = characters[index + 1];
      words.push(character);
      if (next !== undefined) words.push(character + next);
    }
  }
  return words;
}

export const WORD_WEIGHT = 4;
const MAX_QUERY_WORDS = 200;
/** Question words and phrases about the speakers, longer ones first. */
const QUESTION_WORDS =
  /还记不记得|还记得|记不记得|你记得|有没有|是不是|能不能|可不可以|什么时候|什么样|为什么|怎么样|是什么|告诉过?[你我]|跟[你我](?:说|讲|提)过?|和[你我](?:说|讲|提)过?|[你我](?:刚才|之前|以前|上次)?(?:说|提|讲)(?:到|过|起)过?|请问|请你?告诉我?|什么|怎么|怎样|如何|多少|几[个位次种只条]|哪[位个些里儿年天种家次]|哪|谁|吗|呢|吧|啊|呀|嘛|(?:我|你|您|他|她|它|咱)们?的?|这个|那个|这些|那些|(?<!目)的(?![士确])|(?<!为)了(?![解不])/gu;
const SINGLE = /^(?![a-z\p{N}]).$/u;

/** The words that `dayWords` writes for every date. */
const OF_EVERY_DAY: ReadonlySet<string> = wordsOfEveryDay();

function wordsOfEveryDay(): Set<string> {
  const [one = [], other = []] = ["2001-01-01", "2022-12-31"].map((day) => lexicalText(dayWords(new Date(day), "UTC")).split(" "));
  return new Set(one.filter((word) => other.includes(word)));
}

function distinctWords(question: string): string[] {
  const words = [...new Set(lexicalText(question).split(" "))].filter((word) => word !== "" && !OF_EVERY_DAY.has(word));
  return words.length <= MAX_QUERY_WORDS ? words : [...words.slice(0, MAX_QUERY_WORDS / 2), ...words.slice(-MAX_QUERY_WORDS / 2)];
}

/** The words that a sought text must have: no stop words, no single characters of longer Chinese words. */
export function soughtWords(query: string): string[] {
  const words = distinctWords(query);
  const longer = words.filter((word) => !SINGLE.test(word));
  return longer.length > 0 ? longer : words;
}

/**
 * The words of a question for `searchWords`: words and pairs four times, single characters once, at most 200. Chinese question words count
 * only when nothing else is there. Empty for stop words alone.
 */
export function lexicalQuery(text: string): string {
  const asked = distinctWords(text.replace(QUESTION_WORDS, " "));
  const words = asked.length > 0 ? asked : distinctWords(text);
  return words.flatMap((word) => Array.from({ length: SINGLE.test(word) ? 1 : WORD_WEIGHT }, () => word)).join(" ");
}
