import { createHash } from "node:crypto";
import type { IndexDefinition } from "../search-index.ts";
import { indexColumns } from "./index-table.ts";
import { matchesByWords } from "./word-ranking.ts";

/** Documents of a filter: $1 owner, $2 group or null, $3 from or null, $4 until or null. */
const MATCHES = `
where owner_key = $1 and ($2::uuid is null or group_id = $2)
  and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)`;

/** The statements of one index: its name and its attributes are the only things in them that are not constant, and both are checked. */
export function indexStatements(definition: IndexDefinition) {
  const table = `search."${definition.name}"`;
  const types = indexColumns(definition);
  const columns = Object.keys(types);
  const quoted = columns.map((column) => `"${column}"`);
  const given = Object.entries(types).map(([column, type], position) => {
    if (column === "previous_id") return `nullif(item.c${position}, '')::uuid`;
    return `item.c${position}::${type}`;
  });
  const written = quoted.filter((column) => column !== `"id"`);
  const hit = quoted.filter((column) => column !== `"embedding"` && column !== `"lexical_text"`).join(", ");
  // By a digest: an index that is dropped and made anew with other columns must not share names with the one before.
  const statement = (name: string, text: string) => ({
    name: `search-${name}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`,
    text,
  });
  return {
    /** One array of texts per column. A document that does not differ is left alone: each version counts in BM25 until it is vacuumed. */
    upsert: statement(
      "upsert",
      `insert into ${table} as stored (${quoted.join(", ")})
select ${given.join(", ")} from unnest(${columns.map((_, position) => `$${position + 1}::text[]`).join(", ")}) as item(${columns.map((_, position) => `c${position}`).join(", ")})
on conflict (id) do update set ${written.map((column) => `${column} = excluded.${column}`).join(", ")}
where (${written.map((column) => `stored.${column}`).join(", ")}) is distinct from (${written.map((column) => `excluded.${column}`).join(", ")})`,
    ),
    searchVectors: statement(
      "vectors",
      `select ${hit}, 1 - distance as score from (select ${hit}, embedding <=> $5::vector as distance from ${table} ${MATCHES} offset 0) as compared
order by distance, id limit $6`,
    ),
    searchWords: statement("words", matchesByWords({ table, matches: MATCHES, wordIndex: `search."${definition.name}_by_words"` })),
    fetch: statement("fetch", `select ${hit}, 0::double precision as score from ${table} where owner_key = $1 and id = any($2::uuid[])`),
    removeGroups: statement(
      "remove-groups",
      `with removed as (delete from ${table} where owner_key = $1 and group_id = any($2::uuid[]) returning 1) select count(*)::int as count from removed`,
    ),
    remove: statement(
      "remove",
      `with removed as (delete from ${table} where owner_key = $1 and id = any($2::uuid[]) returning 1) select count(*)::int as count from removed`,
    ),
    count: statement("count", `select count(*)::int as count from ${table} where $1::text is null or owner_key = $1`),
    flush: { text: `vacuum (analyze) ${table}` },
  };
}
