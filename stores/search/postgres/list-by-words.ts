import { WORD_KEYS, wordTable } from "./word-table.ts";

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
