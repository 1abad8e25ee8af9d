import { plainValue, type Fact } from "./fact.ts";

/** How a statement begins, in words without adverbs. */
const OPENINGS: [words: string, topic: Fact["topic"], holds: Fact["holds"]][] = [
  ["my name is", "name", "yes"],
  ["i am called", "name", "yes"],
  ["i live in", "home", "yes"],
  ["we live in", "home", "yes"],
  ["i am based in", "home", "yes"],
  ["i moved to", "home", "yes"],
  ["we moved to", "home", "yes"],
  ["i have moved to", "home", "yes"],
  ["i like", "taste", "yes"],
  ["i love", "taste", "yes"],
  ["i enjoy", "taste", "yes"],
  ["i am a fan of", "taste", "yes"],
  ["i am a big fan of", "taste", "yes"],
  ["i do not like", "taste", "no"],
  ["i do not enjoy", "taste", "no"],
  ["i hate", "taste", "no"],
  ["i dislike", "taste", "no"],
  ["i can not stand", "taste", "no"],
  ["i am not a fan of", "taste", "no"],
  ["i am not a big fan of", "taste", "no"],
  ["i no longer like", "taste", "over"],
  ["i no longer enjoy", "taste", "over"],
  ["i am tired of", "taste", "over"],
];
const ADVERBS = new Set("really actually also still just now absolutely always very currently particularly finally back".split(" "));
const LEADS = new Set("hi hello hey there and but so well also oh ok okay actually anyway by the way".split(" "));
const ENDS = [
  "now",
  "too",
  "as well",
  "again",
  "a lot",
  "very much",
  "so much",
  "these days",
  "lately",
  "recently",
  "last month",
  "last year",
];
const NO_MORE = ["any more", "anymore", "any longer"];

/** A thing with one of these words in it was just said or shown, is a person, or is more than a thing. */
const NOT_A_THING = new Set(
  "i me my mine we us our you your he him his she her hers it its they them their this that these those here there what which who whom whose when where why how whether if because although while than as or but not never like love hate enjoy be being is are was were would could should to such another other one ones some any all most none neither both each every anything everything nothing something more less today tonight tomorrow yesterday now idea ideas option version plan step answer suggestion waiting working mondays monday work".split(
    " ",
  ),
);
const NOT_A_NAME = new Set(
  "not the a an and or it he she this that what who hard on in too so also very sorry here back later when if maybe none unknown nobody written spelled".split(
    " ",
  ),
);
const NOT_A_PLACE = new Set(
  "linux windows macos android python java javascript typescript rust go vim notion slack github fear peace hope sin pain denial luxury poverty harmony hell heaven the a an my your this that it here there what where".split(
    " ",
  ),
);
/** What people say they are after a greeting when it is not their name. */
const NATIONS = new Set(
  "american australian austrian brazilian british canadian catholic chinese christian dutch english french german greek indian irish italian japanese jewish korean mexican muslim polish russian spanish swedish swiss turkish ukrainian vegan vegetarian".split(
    " ",
  ),
);
const GREETING = /^(?:hi|hello|hey)\b/iu;
const PLACE = /^\p{Lu}[\p{L}\p{M}'.-]*(?: (?:\p{Lu}[\p{L}\p{M}'.-]*|of|de|la|upon|do|del))*(?:, \p{Lu}[\p{L}\p{M}'.-]*){0,2}$/u;
const NAME_WORD = /^\p{Lu}[\p{L}\p{M}'.-]{0,20}$/u;

const SHORT_FORMS = new Map(
  Object.entries({
    "i'm": "I am",
    im: "I am",
    "i've": "I have",
    "name's": "name is",
    "don't": "do not",
    dont: "do not",
    "can't": "can not",
    cannot: "can not",
  }),
);

const isCapital = (text: string): boolean => /^\p{Lu}/u.test(text);
const capitalise = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function withoutEnd(value: string, ends: readonly string[]): string {
  const end = ends.find((words) => value.toLowerCase().endsWith(` ${words}`));
  return end === undefined ? value : withoutEnd(value.slice(0, -end.length - 1).trimEnd(), ends);
}

/** The rest of the words after an opening, adverbs between its words skipped; null when they begin otherwise. */
function restAfter(opening: string, words: readonly string[]): string | null {
  const wanted = opening.split(" ");
  let matched = 0;
  for (const [index, word] of words.entries()) {
    if (matched > 0 && matched <= wanted.length && ADVERBS.has(word.toLowerCase())) continue;
    if (matched === wanted.length) return words.slice(index).join(" ");
    if (word.toLowerCase() !== wanted[matched]) return null;
    matched += 1;
  }
  return null;
}

function readName(value: string, isCasual: boolean): string[] {
  const words = value.split(" ");
  if (words.length > 3 || words.some((word) => NOT_A_NAME.has(word.toLowerCase()))) return [];
  if (words.every((word) => NAME_WORD.test(word)) || /^\p{Script=Han}{1,4}$/u.test(value)) return [value];
  return isCasual && words.length === 1 && /^\p{Ll}{2,20}$/u.test(value) ? [capitalise(value)] : [];
}

function readPlace(value: string, isCasual: boolean): string[] {
  if (value.length > 60 || NOT_A_PLACE.has((value.split(" ")[0] ?? "").toLowerCase())) return [];
  if (isCasual && /^\p{Ll}{3,20}(?: \p{Ll}{3,20})?$/u.test(value)) return [value.split(" ").map(capitalise).join(" ")];
  return PLACE.test(value) || /^\p{Script=Han}{2,6}$/u.test(value) ? [value] : [];
}

/** The things of a list with commas and "and" between them; none when one of them is no plain thing. */
function readThings(value: string): string[] {
  const parts = value.split(/, and |, | and /);
  // "Cold and rainy evenings" are one thing: what the second says is of both.
  const isOne = !value.includes(",") && parts.some((part) => part.includes(" "));
  const things = isOne ? [value] : parts;
  const isPlain = things.length <= 5 && things.every((thing) => isThing(thing.split(" ")));
  return isPlain ? things : [];
}

function isThing(words: string[]): boolean {
  const [first = "", second = ""] = words;
  const pointsAt = first.toLowerCase() === "the" && !isCapital(second);
  return words.length <= 5 && !pointsAt && !words.some((word) => NOT_A_THING.has(word.toLowerCase()));
}

/** "Hi, I'm Ada": the name in what stands after a greeting. */
export function readIntroduction(greeting: string, clause: string): Fact[] | null {
  const name = GREETING.test(greeting)
    ? /^(?:I'm|I am) (\p{Lu}[\p{Ll}'-]{1,20}(?: \p{Lu}[\p{Ll}'-]{1,20})?)$/u.exec(clause)?.[1]
    : undefined;
  if (name === undefined || NATIONS.has(name.toLowerCase()) || plainValue(name) === null) return null;
  return [{ topic: "name", holds: "yes", value: name, isChinese: false }];
}

/** The facts of one clause such as "I live in Porto"; null when it says anything else. `isCasual`: the message has no capitals. */
export function readEnglish(clause: string, isCasual: boolean): Fact[] | null {
  const words = clause.split(" ").flatMap((word) => (SHORT_FORMS.get(word.toLowerCase()) ?? word).split(" "));
  while (LEADS.has((words[0] ?? "").toLowerCase())) words.shift();
  if (words.length === 0) return [];
  for (const [opening, topic, said] of OPENINGS) {
    const rest = restAfter(opening, words);
    if (rest === null) continue;
    const plain = withoutEnd(rest, ENDS);
    const value = withoutEnd(plain, NO_MORE);
    const holds = said === "no" && value !== plain ? "over" : said;
    const read = {
      name: () => readName(value, isCasual),
      home: () => readPlace(value, isCasual),
      taste: () => readThings(value),
      note: () => [],
    };
    const values = read[topic]();
    if (values.length === 0 || values.some((one) => plainValue(one) === null)) return null;
    return values.map((one) => ({ topic, holds, value: one, isChinese: false }));
  }
  return null;
}
