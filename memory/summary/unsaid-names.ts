import { isStopWord } from "../../text/lexical-text.ts";

/**
 * A capitalised word within an English sentence, after a small word that is no article: no heading, and no kind of thing ("an Android
 * phone").
 */
const ENGLISH_NAME = /(?<=(?<![\p{L}\p{N}'’-])(?!(?:an?|the) )\p{Ll}[\p{Ll}'’]*,? ["“(]?)\p{Lu}\p{Ll}{2,}(?:[ -]\p{Lu}\p{Ll}+)*/gu;
/** Dates in words, languages, and things of a country. */
const NO_NAME =
  /^(?:user|assistant|january|february|march|april|may|june|july|august|september|october|november|december|\w{3,6}days?|christmas|easter|greek|thai|swiss|arab\w*|\w+(?:ish|ese|ian|ean|ican|man|nch|tch|ic))\b/;
/** The first two characters of a home or a name. */
const CHINESE_NAME = /(?:[住家]在|来自|搬[到去]|名叫|叫做|(?:用户|[他她它你])叫)(\p{Script=Han}{2})/gu;
const NO_CHINESE_NAME =
  /^(?:市[中区]|城[市里中]|家[里中乡]|父母|自己|学校|宿舍|公[寓司]|酒店|宾馆|附近|[一同这那某他她它]|国外|外[地国]|海[外边]|乡下|农村|郊区|老家|出租|新[家的]|什么|哪)/u;
const HAN = /\p{Script=Han}/gu;
const LETTER = /\p{L}/gu;
/** A text with fewer stop words is not English. */
const LEAST_STOP_WORDS = 0.25;
const MOST_HAN_IN_ENGLISH = 0.1;
const LEAST_HAN = 0.3;
/** The share of unsaid names: a good summary may rephrase one. */
const MOST_UNSAID = 1 / 3;
const LEAST_LETTERS = 3;
const BEGINNING = 4;

const plainWords = (text: string): string[] =>
  text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

function hanShare(text: string): number {
  return (text.match(HAN)?.length ?? 0) / Math.max(1, text.match(LETTER)?.length ?? 0);
}

function isEnglish(text: string): boolean {
  const words = plainWords(text);
  return words.filter(isStopWord).length >= LEAST_STOP_WORDS * words.length && hanShare(text) < MOST_HAN_IN_ENGLISH;
}

/** Whether a form of it was said: "Melanie" for Mel, "Portuguese" for Portugal, "New York" for nyc. */
function isSaid(name: string, said: ReadonlySet<string>): boolean {
  const parts = plainWords(name);
  const initials = parts.map(([letter]) => letter).join("");
  const isLike = (word: string, part: string): boolean =>
    (word.length >= LEAST_LETTERS && part.startsWith(word)) ||
    word.startsWith(part.slice(0, BEGINNING)) ||
    (parts.length > 1 && word.startsWith(initials) && word.length <= parts.length + 1);
  return parts.some((part) => [...said].some((word) => isLike(word, part)));
}

/** Whether a third of a text's names were not said. Judges English and Chinese where both texts have the same language. */
export function tellsUnsaidNames(text: string, source: string): boolean {
  const isUnsaid: boolean[] = [];
  if (isEnglish(text) && isEnglish(source)) {
    const said = new Set(plainWords(source).filter((word) => !isStopWord(word)));
    const isName = (name: string): boolean => !NO_NAME.test(name.toLowerCase()) && !plainWords(name).every(isStopWord);
    const names = new Set(text.match(ENGLISH_NAME)?.filter(isName));
    isUnsaid.push(...[...names].map((name) => !isSaid(name, said)));
  }
  if (hanShare(source) > LEAST_HAN) {
    const names = new Set([...text.matchAll(CHINESE_NAME)].flatMap(([, name = ""]) => (NO_CHINESE_NAME.test(name) ? [] : name)));
    isUnsaid.push(...[...names].map((name) => !source.includes(name)));
  }
  const unsaid = isUnsaid.filter(Boolean).length;
  return unsaid > 0 && unsaid >= MOST_UNSAID * isUnsaid.length;
}
