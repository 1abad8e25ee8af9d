import type { WordCandidate, WordStatistics } from "../contract/word-ranking.ts";
import type { HitValues } from "./wire-format.ts";
import { WORD_KEYS, wordTable } from "./word-table.ts";

/** Documents with rare words that are ranked for one question; half as many with common ones. More find no more: docs/decisions/0012. */
export const WORD_CANDIDATES = 400;

/** SQL: the index, the condition with and without the owner, the columns of a hit, and the JSON of hits. */
type WordSearchParts = Record<"name" | "matches" | "narrowed" | "hit" | "hits", string>;

/**
 * SQL: BM25's numbers of the likeliest documents, so that a search costs much the same among 2,000 and 50,000.
 * - Rare words bring all their documents, up to $8.
 * - Common words bring some documents with several together (as many words as leave about $8 documents if words were independent), and some
 *   with the rarest.
 * - All documents of a group ($2) count.
 * $6 is the words, repetitions counting. Documents come as text, a line each, which is faster than rows; their asked words have the weight
 * A. Up to $7 come as hits at once, which spares a second statement.
 */
export function wordSearchSql({ name, matches, narrowed, hit, hits }: WordSearchParts): string {
  const [table, kept] = [`search."${name}"`, wordTable(name)];
  const having = (condition: string): string => `select ctid from ${table} where ${WORD_KEYS} ${condition} ${narrowed}`;
  const together = (most: string): string =>
    `(${having(`@> (select array_agg(key) from common, deep where place <= ${most})`)} limit $8 / 2)`;
  return `
with asked as materialized (
  select word, count(*) as weight from unnest($6::text[]) as word group by word
), known as materialized (
  select word, weight, own.key, own.documents::float8 as of_owner, every.documents::float8 as documents
  from asked join ${kept} as own on own.key = search.word_key($1, word) join ${kept} as every on every.key = search.word_key('', word)
), summed as materialized (
  select known.key, of_owner, owned.documents as owned,
    owned.documents <= $8 or sum(of_owner) over (order by of_owner, known.key) <= $8 as rare
  from known, ${kept} as owned where owned.key = search.word_key($1, '')
), common as materialized (
  select key, row_number() over told as place, owned * exp(sum(ln(least(1, of_owner / owned))) over told) as expected
  from summed where not rare window told as (order by of_owner, key)
), deep as materialized (
  select coalesce(min(place) filter (where expected <= $8), max(place)) as most from common
), candidates as materialized (
  ${having("&& (select array_agg(key) from summed where rare)")}
  union ${together("most")} union ${together("1")}
  union (select ctid from ${table} where group_id = $2 and owner_key = $1 limit $8)
), listed as materialized (select array_agg(word) as words from known), matched as materialized (
  select ${hit}, word_count, ts_filter(setweight(lexemes, 'A', words), '{a}') as matching from ${table}, listed
  ${matches} and ctid = any(array(select ctid from candidates))
)
select
  (select json_agg(json_build_object('word', word, 'weight', weight, 'documents', documents)) from known) as asked,
  (select documents::float8 from ${kept} where key = search.word_key('', '')) as documents,
  (select documents::float8 from ${kept} where key = search.word_key('', ' ')) as words,
  (select string_agg(concat_ws(' ', id, word_count, matching), E'\\n') from matched) as candidates,
  (select ${hits} from matched where (select count(*) from matched) <= $7) as hits`;
}

export interface WordSearchRow extends Omit<WordStatistics, "asked"> {
  asked: WordStatistics["asked"] | null;
  /** A line a document: id, number of words, and its asked words as a tsvector. */
  candidates: string | null;
  /** Null for none, or for more than the limit. */
  hits: HitValues[] | null;
}

/** A lexeme of a tsvector: quoted, then its positions. */
function readLexeme(lexeme: string): [word: string, frequency: number] {
  const colon = lexeme.lastIndexOf(":");
  const quoted = lexeme.slice(1, colon - 1);
  const word = /['\\]/.test(quoted) ? quoted.replaceAll("''", "'").replaceAll("\\\\", "\\") : quoted;
  return [word, lexeme.slice(colon).split(",").length];
}

export function readCandidates(lines: string): WordCandidate[] {
  return lines.split("\n").map((line) => {
    const [id = "", length, ...lexemes] = line.split(" ");
    return { id, length: Number(length), frequencies: lexemes.filter(Boolean).map(readLexeme) };
  });
}

/** A more frequent word is searched among the newest documents first: one of a few soon has it. */
const COMMON = 2_000;

/**
 * SQL: the newest documents of an owner ($1) with all words ($2), before the place $3, $4. Several words are looked up together, so that
 * only documents with all are read. $5 is the limit.
 */
export function listByWordsSql({ name, hit, hits }: Record<"name" | "hit" | "hits", string>): string {
  const table = `search."${name}"`;
  const newest = `and (created_at, id) < ($3::timestamptz, $4::uuid) order by created_at desc, id desc limit $5`;
  return `
with asked as materialized (
  select distinct word from unnest($2::text[]) as word
), known as materialized (
  select key, documents from asked join ${wordTable(name)} on key = search.word_key($1, word)
), plan as materialized (
  select count(*) = (select count(*) from asked) as whole, count(*) = 1 and max(documents) > ${COMMON} as common, array_agg(key) as keys from known
), candidates as materialized (
  select ctid from ${table} where (select whole and not common from plan) and ${WORD_KEYS} @> (select keys from plan)
), matched as materialized (
  (select ${hit} from ${table} where owner_key = $1 and ctid = any(array(select ctid from candidates)) ${newest})
  union all
  (select ${hit} from ${table} where owner_key = $1 and (select whole and common from plan) and tsvector_to_array(lexemes) @> $2::text[] ${newest})
)
select ${hits} as hits from matched`;
}
