import { eng } from "stopword";

/** Beyond the package's list, which lacks some pronouns and auxiliaries. "may", "will" and "march" are dates and names too, and stay. */
const MORE =
  "also does doing done else hers herself hi hello its itself just myself okay ok ours shall she so themselves theirs us when whom whose why yes your yours yourself let".split(
    " ",
  );
/** In the package's list, yet what a question is about: "what does she like". */
const KEPT = new Set(["like", "may", "will"]);
const STOP_WORDS = new Set([...eng, ...MORE].filter((word) => !KEPT.has(word)));

/** True for an English word, in lower case, that says nothing about what a text is about. */
export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
