import type { HitValues } from "./wire-format.ts";

/** SQL: the table, its word index, the condition, the columns of a hit, and the JSON of hits. */
type MatchesParts = Record<"table" | "wordIndex" | "matches" | "hit" | "hits", string>;

/**
 * SQL: what BM25 needs. The operator of pg_textsearch is slow and rounds lengths above 40 words, so it only weighs each word: alone a word
 * scores idf * 2.2 / (1.3 + 0.9 / average), as one of 40 words idf * 2.2 / (1.3 + 36 / average). Both give the average. 1.3 is 1 + k1 (1 -
 * b), 0.9 is k1 b. https://en.wikipedia.org/wiki/Okapi_BM25 Matches come as text, a line a document, a fifth of the time of rows. Asked
 * words have the weight A. $5 is the words, repetitions counting, $6 the same as a tsquery. Up to $7 documents come as hits at once, which
 * spares a second statement.
 */
export function matchesByWords({ table, wordIndex, matches, hit, hits }: MatchesParts): string {
  const score = (text: string): string => `-(${text} <@> to_bm25query(word, '${wordIndex}'))`;
  return `
with asked as materialized (select word, count(*)::double precision as weight from unnest($5::text[]) as word group by word),
measured as materialized (select word, weight, ${score("word")} as alone from asked),
known as materialized (select * from measured where alone > 0),
listed as materialized (select array_agg(word order by word) as words, array_agg(weight * alone order by word) as weights from known),
matched as materialized (
  select ${hit}, word_count, ts_filter(setweight(lexemes, 'A', words), '{a}') as matching from ${table}, listed ${matches} and lexemes @@ $6::tsquery
)
select words, weights, (
  select 1.3 * (ratio - 1) / (36 - 0.9 * ratio)
  from (select alone / ${score("(word || repeat(' ' || word || 'x', 39))")} as ratio from known order by word limit 1) as compared
) as per_word,
  (select string_agg(concat_ws(' ', id, word_count, matching), E'\\n') from matched) as documents,
  (select ${hits} from matched where (select count(*) from matched) <= $7) as hits
from listed`;
}

export interface WordMatches {
  words: string[] | null;
  /** Repetitions counted. */
  weights: number[] | null;
  /** One word's share of the average document length. */
  per_word: number | null;
  /** A line a document: id, number of words, and matching words as a tsvector. */
  documents: string | null;
  /** Null for none, or for more than the limit. */
  hits: HitValues[] | null;
}

/** A lexeme of a tsvector: quoted, then its positions. */
function readLexeme(lexeme: string): { word: string; frequency: number } {
  const colon = lexeme.lastIndexOf(":");
  const quoted = lexeme.slice(1, colon - 1);
  const word = /['\\]/.test(quoted) ? quoted.replaceAll("''", "'").replaceAll("\\\\", "\\") : quoted;
  return { word, frequency: lexeme.slice(colon).split(",").length };
}

export function rankByWords({ words, weights, per_word, documents }: WordMatches, limit: number): { id: string; score: number }[] {
  if (!words || !weights || per_word === null || documents === null) return [];
  const weightOf = new Map(words.map((word, position) => [word, (weights[position] ?? 0) * (1.3 + 0.9 * per_word)]));
  const ranked = documents.split("\n").map((line) => {
    const [id = "", count, ...lexemes] = line.split(" ");
    const length = 0.3 + 0.9 * Number(count) * per_word;
    let score = 0;
    for (const lexeme of lexemes) {
      const { word, frequency } = readLexeme(lexeme);
      score += ((weightOf.get(word) ?? 0) * frequency) / (frequency + length);
    }
    return { id, score };
  });
  return ranked
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1))
    .slice(0, limit);
}
