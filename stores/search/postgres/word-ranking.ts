import type { HitValues } from "./wire-format.ts";

/** Parts of the statement: the table, its index of words, the condition, the columns of a hit, and the JSON of hits. */
type MatchesParts = Record<"table" | "wordIndex" | "matches" | "hit" | "hits", string>;

/**
 * BM25 with the figures of the index and the exact lengths of the documents. The operator of pg_textsearch rounds lengths above 40 words,
 * which moves scores by some percent and makes another order than Milvus; and it takes ten times as long, since it reads each document
 * anew. So it is only asked how a word weighs: alone, a word scores idf * 2.2 / (1.3 + 0.9 / average); as one of 40 words, which is the
 * longest that is not rounded, idf * 2.2 / (1.3 + 36 / average). From both follows the average, and from that every other score.
 * 1.3 is 1 + k1 (1 - b), 0.9 is k1 b. https://en.wikipedia.org/wiki/Okapi_BM25
 *
 * Which documents have which of the words, and how often, is one text of a line each, and the sum is made here: as rows of SQL, one for each
 * word of each document, both take five times as long. Words that nobody asked for are left out by a weight that nothing else uses.
 *
 * $5 is the words, a word twice counting twice, $6 the same words as alternatives of a tsquery. When there are at most $7 documents, which is
 * as many as are wanted, all of them come as hits at once: most users have no more, and fetching the best by a second statement costs as much
 * as ranking them.
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

/** What `matchesByWords` answers with, one row: nulls when no document of the index has any of the words. */
export interface WordMatches {
  words: string[] | null;
  /** How much each of the words weighs: as often as it is asked for. */
  weights: number[] | null;
  /** The share of one word in a document's length, of an average document's. */
  per_word: number | null;
  /** A line for each document: its id, how many words it has, and the words that match as a tsvector; null for none. */
  documents: string | null;
  /** All of them, or null when there are none or more than wanted. */
  hits: HitValues[] | null;
}

/**
 * A lexeme of a tsvector as text: quoted, with its positions behind it. Words have no spaces in them.
 * https://www.postgresql.org/docs/current/datatype-textsearch.html#DATATYPE-TSVECTOR
 */
function readLexeme(lexeme: string): { word: string; frequency: number } {
  const colon = lexeme.lastIndexOf(":");
  const quoted = lexeme.slice(1, colon - 1);
  const word = /['\\]/.test(quoted) ? quoted.replaceAll("''", "'").replaceAll("\\\\", "\\") : quoted;
  return { word, frequency: lexeme.slice(colon).split(",").length };
}

/** The best `limit` documents by BM25, best first; those that score the same by id. */
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
