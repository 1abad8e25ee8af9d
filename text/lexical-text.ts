import stem from "wink-porter2-stemmer";
import { eng } from "stopword";

/** Of a longer text, its beginning and its end. */
const HEAD_CHARACTERS = 20_000;
const TAIL_CHARACTERS = 5_000;
const HEAD_WORDS = 5_000;
const TAIL_WORDS = 2_000;
/** A VarChar of Milvus holds 65,535 bytes. */
const MAX_BYTES = 60_000;
/** measureWords keeps number and unit together. */
const DAY_OR_MONTH = /(?<!\d)\d+(?=[月日号])/gu;
/** Historic scripts, emoji, radicals and newest ideographs, at which some versions of Postgres split words. */
const RARE = /[^\u{0}-\u{2E7F}\u{2FE0}-\u{FFFF}\u{20000}-\u{2FFFF}]/gu;

/** One spelling: NFKC, lower case, no accents. */
function normalise(text: string): string {
  const cut = text.length <= HEAD_CHARACTERS + TAIL_CHARACTERS ? text : `${text.slice(0, HEAD_CHARACTERS)} ${text.slice(-TAIL_CHARACTERS)}`;
  return cut
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u00C0-\u024F\u1E00-\u1EFF]+/g, (letters) => letters.normalize("NFD"))
    .replace(/\p{M}+/gu, "")
    .replace(RARE, " ");
}

function truncateWords(words: readonly string[]): string[] {
  const kept = words.length <= HEAD_WORDS + TAIL_WORDS ? words : [...words.slice(0, HEAD_WORDS), ...words.slice(-TAIL_WORDS)];
  let bytes = 0;
  const end = kept.findIndex((word) => (bytes += Buffer.byteLength(word) + 1) > MAX_BYTES);
  return end === -1 ? [...kept] : kept.slice(0, end);
}

/**
 * The words of a text for keyword ranking, separated by spaces, the same for every store: English as stems without stop words, identifiers
 * also whole; Chinese, Japanese and Korean as characters and pairs; dates as one word. At most 7,000 words and 60,000 bytes.
 */
export function lexicalText(text: string): string {
  const normal = normalise(text);
  const latin = normal.replace(DAY_OR_MONTH, " ").replace(UNSEGMENTED, " ");
  return truncateWords([...latinWords(latin), ...measureWords(normal), ...unsegmentedWords(normal)]).join(" ");
}

/** Pronouns and auxiliaries that the package lacks. "may", "will" and "march" are dates and names too. */
const MORE =
  "also does doing done else hers herself hi hello its itself just myself okay ok ours shall she so themselves theirs us when whom whose why yes your yours yourself let".split(
    " ",
  );
/** In the package, yet meaningful: "what does she like". */
const NOT_STOP_WORDS = new Set(["like", "may", "will"]);
const STOP_WORDS = new Set([...eng, ...MORE].filter((word) => !NOT_STOP_WORDS.has(word)));

/** Whether an English word, in lower case, is a stop word. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** Letters and digits with the marks inside identifiers, addresses and compounds: TK-4471, v2.3, a@b.com. */
const TOKEN = /[\p{L}\p{Nd}]+(?:[-._@:/+#][\p{L}\p{Nd}]+)*/gu;
const PART = /[\p{L}\p{Nd}]+/gu;
const ORDINAL = /^(\d+)(?:st|nd|rd|th)$/;
/** Words to stem; the stemmer spoils others: "2023" becomes "202i". */
const PLAIN = /^[a-z]+$/;
/** Postgres parses digits, "e", digits as a number and splits the word. */
const LIKE_A_FLOAT = /^\d+e\d/;
const NEGATED_VERB = /\b(?:ai|are|ca|could|did|do|does|had|has|have|is|might|must|need|should|was|were|wo|would)n['’]t\b/g;
const ENDING = /(?<=\p{L})['’](?:s|m|d|re|ve|ll|t)?(?![\p{L}\p{Nd}])/gu;
const LONGEST = 40;

/** Longest word that is cached. A longer substring is a reference in V8, so a cached one would keep the whole text in memory. */
const LONGEST_COPIED = 12;
/** A cache: stemming a word takes a hundred times the look-up. */
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

/**
 * The words of a text in lower case, without unsegmented scripts: no stop words, the rest as porter2 stems. Compounds come in parts and
 * joined: "tk-4471" gives tk, 4471, tk4471.
 */
function latinWords(text: string): string[] {
  const words: string[] = [];
  for (const [token] of text.replace(NEGATED_VERB, " ").replace(ENDING, " ").matchAll(TOKEN)) {
    const parts = token.match(PART) ?? [];
    for (const part of parts) {
      const word = ORDINAL.exec(part)?.[1] ?? part;
      if (!isStopWord(word)) words.push(normaliseWord(word));
    }
    if (parts.length > 1) words.push(normaliseWord(token.replace(/[^\p{L}\p{Nd}]/gu, "")));
  }
  return words.filter((word) => word !== "");
}

const DIGITS: Readonly<Record<string, number>> = { 一: 1, 二: 2, 三: 3, 四: 4, 五: 5, 六: 6, 七: 7, 八: 8, 九: 9 };
const DATE_UNITS = /(\d{1,4}|[一二三四五六七八九十]{1,3})([月日号])(?!份?[饼亮球])/gu;
const COUNTED = /(?<!\d)(\d+)(\p{Script=Han})/gu;
const DAY = /(\d{1,2})月(\d{1,2})日/gu;

/** 1 to 99 from digits or Chinese numerals: "二十一" is 21. */
function toNumber(text: string): number {
  if (/^\d/.test(text)) return Number(text);
  const [tens, ones] = text.includes("十") ? text.split("十") : ["", text];
  if (!text.includes("十")) return DIGITS[ones ?? ""] ?? 0;
  return (tens === "" ? 1 : (DIGITS[tens ?? ""] ?? 0)) * 10 + (DIGITS[ones ?? ""] ?? 0);
}

/**
 * Numbers with their Chinese measure word, each as one word; dates also from Chinese numerals, and month with day: "五月8号" gives 5月 8日 5月8日.
 */
function measureWords(text: string): string[] {
  const dates = text.replace(DATE_UNITS, (whole, number: string, unit: string) => {
    const value = toNumber(number);
    return value > 0 ? `${value}${unit === "号" ? "日" : unit}` : whole;
  });
  const words = [...dates.matchAll(COUNTED)].map(([, number = "", unit = ""]) => `${number.slice(0, 12)}${unit}`);
  for (const [, month = "", day = ""] of dates.matchAll(DAY)) words.push(`${Number(month)}月${Number(day)}日`);
  return words;
}

/** Scripts without spaces between words, which Postgres and Milvus would leave in one piece. */
const UNSEGMENTED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;

/** Every character and pair of neighbours in runs of Chinese, Japanese or Korean: "导演说" gives 导 导演 演 演说 说. */
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
