import { createHash } from "node:crypto";
import type { IndexDefinition } from "../search-index.ts";
import { hitColumns, hitsAsJson } from "./hit-values.ts";
import { indexColumns } from "./index-table.ts";
import { matchesByWords } from "./word-ranking.ts";

/** Documents of a filter: $1 owner, $2 group or null, $3 from or null, $4 until or null. */
const MATCHES = `
where owner_key = $1 and ($2::uuid is null or group_id = $2)
  and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)`;

/** $1 owner, $2 groups or ids, $3 how many documents at most. */
const removal = (table: string, column: string): string => `
with removed as (
  delete from ${table} where id = any(array(select id from ${table} where owner_key = $1 and ${column} = any($2::uuid[]) limit $3)) returning 1
)
select count(*)::int as count from removed`;

/** The statements of one index: its name and its attributes are the only things in them that are not constant, and both are checked. */
export function indexStatements(definition: IndexDefinition) {
  const { name, dimensions } = definition;
  const table = `search."${name}"`;
  const { embedding: vector, ...types } = indexColumns(definition);
  const texts = Object.keys(types);
  const given = Object.entries(types).map(([column, type], position) =>
    column === "previous_id" ? `nullif(item.c${position}, '')::uuid` : `item.c${position}::${type}`,
  );
  const embedding = `(($${texts.length + 1}::real[])[(number::int - 1) * ${dimensions} + 1 : number::int * ${dimensions}])::${vector}`;
  const columns = [...texts, "embedding"].map((column) => `"${column}"`);
  const written = columns.filter((column) => column !== `"id"`);
  const hit = hitColumns(definition);
  const unscored = hitsAsJson(definition, { score: "0" });
  // By a digest: an index that is dropped and made anew with other columns must not share names with the one before.
  const statement = (what: string, text: string) => ({
    name: `search-${what}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`,
    text,
  });
  return {
    /**
     * One array of texts per column, and all embeddings in one array behind each other. A document that does not differ is left alone: each
     * version counts in BM25 until it is vacuumed.
     */
    upsert: statement(
      "upsert",
      `insert into ${table} as stored (${columns.join(", ")})
select ${[...given, embedding].join(", ")}
from unnest(${texts.map((_, position) => `$${position + 1}::text[]`).join(", ")}) with ordinality as item(${texts.map((_, position) => `c${position}`).join(", ")}, number)
on conflict (id) do update set ${written.map((column) => `${column} = excluded.${column}`).join(", ")}
where (${written.map((column) => `stored.${column}`).join(", ")}) is distinct from (${written.map((column) => `excluded.${column}`).join(", ")})`,
    ),
    searchVectors: statement(
      "vectors",
      `select ${hitsAsJson(definition, { score: "1 - distance", order: "order by distance, id" })} as hits
from (select ${hit}, embedding <=> $5::vector as distance from ${table} ${MATCHES} order by distance, id limit $6) as nearest`,
    ),
    searchWords: statement(
      "words",
      matchesByWords({ table, matches: MATCHES, wordIndex: `search."${name}_by_words"`, hit, hits: unscored }),
    ),
    fetch: statement("fetch", `select ${unscored} as hits from ${table} where owner_key = $1 and id = any($2::uuid[])`),
    removeGroups: statement("remove-groups", removal(table, "group_id")),
    remove: statement("remove", removal(table, "id")),
    count: statement("count", `select count(*)::int as count from ${table} where $1::text is null or owner_key = $1`),
    flush: { text: `vacuum (analyze) ${table}` },
  };
}
