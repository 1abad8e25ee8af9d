import { countedWords } from "./counted-words.ts";
import { latinWords } from "./latin-words.ts";
import { UNSEGMENTED, unsegmentedWords } from "./unsegmented-words.ts";

/** Characters of a text that are looked at: of a longer one its beginning and its end. */
const HEAD_CHARACTERS = 20_000;
const TAIL_CHARACTERS = 5_000;
const HEAD_WORDS = 5_000;
const TAIL_WORDS = 2_000;
/** A VarChar of Milvus holds 65,535 bytes. */
const MAX_BYTES = 60_000;
/** Its number alone says nothing: countedWords keeps both together. */
const DAY_OR_MONTH = /(?<!\d)\d+(?=[月日号])/gu;
/** Historic scripts, emoji, radicals and newest ideographs: Postgres does not know them all and splits words there. */
const RARE = /[^\u{0}-\u{2E7F}\u{2FE0}-\u{FFFF}\u{20000}-\u{2FFFF}]/gu;

/** One spelling for what looks or means the same: half-width forms, small letters, Latin without accents, no marks of their own. */
function normalise(text: string): string {
  const cut = text.length <= HEAD_CHARACTERS + TAIL_CHARACTERS ? text : `${text.slice(0, HEAD_CHARACTERS)} ${text.slice(-TAIL_CHARACTERS)}`;
  return cut
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u00C0-\u024F\u1E00-\u1EFF]+/g, (letters) => letters.normalize("NFD"))
    .replace(/\p{M}+/gu, "")
    .replace(RARE, " ");
}

function fitting(words: readonly string[]): string[] {
  const kept = words.length <= HEAD_WORDS + TAIL_WORDS ? words : [...words.slice(0, HEAD_WORDS), ...words.slice(-TAIL_WORDS)];
  let bytes = 0;
  const end = kept.findIndex((word) => (bytes += Buffer.byteLength(word) + 1) > MAX_BYTES);
  return end === -1 ? [...kept] : kept.slice(0, end);
}

/**
 * The words of a text as prepared for keyword ranking, separated by spaces, the same for every store: letters and digits only. English
 * as stems without stop words, identifiers also whole, Chinese, Japanese and Korean as characters and pairs, dates as one word. At most
 * 7,000 words and 60,000 bytes.
 */
export function lexicalText(text: string): string {
  const normal = normalise(text);
  const latin = normal.replace(DAY_OR_MONTH, " ").replace(UNSEGMENTED, " ");
  return fitting([...latinWords(latin), ...countedWords(normal), ...unsegmentedWords(normal)]).join(" ");
}
