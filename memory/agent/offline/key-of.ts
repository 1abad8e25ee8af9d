import stem from "wink-porter2-stemmer";

/** Words before a thing that do not tell it from the same thing without them. */
const LEADING =
  /^(?:(?:an?|the|my|some|to|of|on|listening|watching|eating|drinking|reading|playing|going|doing|watch|eat|drink|read|play|listen|learn|study|learning|studying)\s+)+(?=\S)/;
const LEADING_HAN = /^(?:去|吃|喝|看|听|玩|打|读|学习|学)+(?=\p{Script=Han}{1,}|\w)/u;
/** Kinds of works and the like: who is tired of science fiction films is tired of science fiction. */
const GENERIC = /(?<=\S )(?:films?|movies?|books?|novels?|music|foods?|shows?|series|stuff|things?)$/;
const GENERIC_HAN = /(?<=\S{2})(?:电影|小说|音乐|类|片|剧|书|菜|食物|制品)$/u;
const SAME_WORDS: Readonly<Record<string, string>> = { "sci-fi": "science fiction", scifi: "science fiction", soda: "soft drinks" };

/** A value in a form in which "The sci-fi films", "science fiction" and "Science-Fiction" are the same. */
export function keyOf(value: string): string {
  const plain = value
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[’']s?\b/g, "")
    .trim();
  const known = plain.replace(/\b(?:sci-fi|scifi|soda)\b/g, (word) => SAME_WORDS[word] ?? word);
  const short = known.replace(LEADING, "").replace(GENERIC, "").replace(LEADING_HAN, "").replace(GENERIC_HAN, "");
  const words = short.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => (/^[a-z]+$/.test(word) ? stem(word) : word)).join(" ");
}
