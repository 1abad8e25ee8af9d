/**
 * BM25 with the figures of the index and the exact lengths of the documents. The operator of pg_textsearch rounds lengths above 40 words,
 * which moves scores by some percent and makes another order than Milvus; and it takes ten times as long, since it reads each document
 * anew. So it is only asked how a word weighs: alone, a word scores idf * 2.2 / (1.3 + 0.9 / average); as one of 40 words, which is the
 * longest that is not rounded, idf * 2.2 / (1.3 + 36 / average). From both follows the average, and from that every other score.
 * 1.3 is 1 + k1 (1 - b), 0.9 is k1 b. https://en.wikipedia.org/wiki/Okapi_BM25
 *
 * Words that nobody asked for are left out before the lexemes are unnested, by a weight that nothing else uses: a text has ten times as many,
 * and each would be a row.
 *
 * $5 is the words, a word twice counting twice, $6 the limit, $7 the same words as alternatives of a tsquery.
 */
export function rankingByWords({ table, wordIndex, matches, hit }: Record<"table" | "wordIndex" | "matches" | "hit", string>): string {
  const score = (text: string): string => `-(${text} <@> to_bm25query(word, '${wordIndex}'))`;
  return `
with asked as materialized (select word, count(*)::double precision as weight from unnest($5::text[]) as word group by word),
measured as materialized (select word, weight, ${score("word")} as alone from asked),
known as materialized (select * from measured where alone > 0),
lengths as materialized (
  select 1.3 * (ratio - 1) / (36 - 0.9 * ratio) as per_word
  from (select alone / ${score("(word || repeat(' ' || word || 'x', 39))")} as ratio from known order by word limit 1) as compared
),
counted as materialized (
  select id, word_count, found.lexeme as word, cardinality(found.positions)::double precision as frequency
  from ${table}, unnest(ts_filter(setweight(lexemes, 'A', (select array_agg(word) from known)), '{a}')) as found
  ${matches} and lexemes @@ $7::tsquery
),
ranked as (
  select id, sum(weight * alone * (1.3 + 0.9 * per_word) * frequency / (frequency + 0.3 + 0.9 * word_count * per_word)) as score
  from counted join known using (word) cross join lengths group by id order by score desc, id limit $6
)
select ${hit}, score from ranked join ${table} using (id) order by score desc, id`;
}
