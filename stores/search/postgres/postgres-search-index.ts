import { createHash } from "node:crypto";
import type { Database, Statement, StatementValue } from "../../postgres/database/database.ts";
import {
  checkEmbedding,
  type IndexDefinition,
  type SearchDocument,
  type SearchFilter,
  type SearchHit,
  type SearchIndex,
  type SearchLevel,
  type VectorIndex,
} from "../contract/search-index.ts";
import { checkMoment, checkOwnerKey, checkUuid } from "../../index-keys.ts";
import { storableText } from "../../../text/storable-text.ts";
import { hitColumns, hitOf, hitsAsJson, type HitValues, vectorValue } from "./wire-format.ts";
import { rankByWords } from "../contract/word-ranking.ts";
import { nearestVectors, vectorsSql, type VectorsRow } from "./compare-vectors.ts";
import { indexColumns, throwUnreachable } from "./index-table.ts";
import { VECTOR_COLUMNS, type VectorLevel } from "./vector-columns.ts";
import { wordTable } from "./word-table.ts";
import { readCandidates, WORD_CANDIDATES, wordSearchSql, type WordSearchRow, listByWordsSql } from "./word-search.ts";

const REMOVED_AT_ONCE = 2_000;
/** The most entries of one owner searched for a rare type. Milvus gives no more at once. */
const MOST_LOOKED_AT = 16_384;
/** Postgres refuses longer ones. */
const LONGEST_WORD_BYTES = 2_000;

function wordsOf(lexicalText: string): string[] {
  return storableText(lexicalText).split(/\s+/).filter(Boolean);
}

function toTexts(document: SearchDocument, { attributes }: IndexDefinition): string[] {
  return [
    checkUuid(document.id),
    checkOwnerKey(document.ownerKey),
    checkUuid(document.groupId),
    document.previousId === null ? "" : checkUuid(document.previousId),
    document.createdAt.toISOString(),
    wordsOf(document.lexicalText).join(" "),
    ...Object.keys(attributes).map((name) => storableText(String(document.attributes[name]))),
  ];
}

/** $1 to $5. */
function filterValues({ ownerKey, groupId, from, until, types }: SearchFilter): StatementValue[] {
  return [
    checkOwnerKey(ownerKey),
    groupId === undefined ? null : checkUuid(groupId),
    from ? checkMoment(from) : null,
    until ? checkMoment(until) : null,
    types ?? null,
  ];
}

/** Its vectors are in a Postgres column of the given level, or in the given index. */
export function makePostgresSearchIndex(database: Database, definition: IndexDefinition, vectors: VectorLevel | VectorIndex): SearchIndex {
  const { dimensions } = definition;
  const [level, elsewhere] = typeof vectors === "string" ? ([vectors, null] as const) : (["milvus", vectors] as const);
  const statements = indexStatements(definition, level);
  const run = <Row>(statement: Statement, values?: readonly StatementValue[]): Promise<Row[]> =>
    database.query<Row>(values ? { ...statement, values } : statement).catch(throwUnreachable);
  const runCount = async (statement: Statement, values: readonly StatementValue[]): Promise<number> => {
    const [row] = await run<{ count: number }>(statement, values);
    return row?.count ?? 0;
  };
  async function removeHere(statement: Statement, ownerKey: string, ids: readonly string[]): Promise<number> {
    const values = [checkOwnerKey(ownerKey), ids.map(checkUuid), REMOVED_AT_ONCE];
    for (let removed = 0; ;) {
      const count = await runCount(statement, values);
      removed += count;
      if (count < REMOVED_AT_ONCE) return removed;
    }
  }
  async function removeAll(what: "remove" | "removeGroups", ownerKey: string, ids: readonly string[]): Promise<number> {
    return Math.max(...(await Promise.all([removeHere(statements[what], ownerKey, ids), elsewhere?.[what](ownerKey, ids) ?? 0])));
  }
  const hitsOf = (ownerKey: string, values: readonly HitValues[] | null | undefined): SearchHit[] =>
    (values ?? []).map((one) => hitOf(one, ownerKey, definition));
  const hits = async (statement: Statement, ownerKey: string, values: readonly StatementValue[]): Promise<SearchHit[]> => {
    const [row] = await run<{ hits: HitValues[] | null }>(statement, values);
    return hitsOf(ownerKey, row?.hits);
  };
  async function fetch(ownerKey: string, ids: readonly string[], types: SearchFilter["types"] = undefined): Promise<SearchHit[]> {
    return ids.length === 0 ? [] : hits(statements.fetch, ownerKey, [checkOwnerKey(ownerKey), ids.map(checkUuid), types ?? null]);
  }
  function inOrder(ranked: readonly { id: string; score: number }[], found: readonly SearchHit[]): SearchHit[] {
    const byId = new Map(found.map((hit) => [hit.id, hit]));
    return ranked.flatMap(({ id, score }) => {
      const hit = byId.get(id); // none when it was just removed
      return hit ? [{ ...hit, score }] : [];
    });
  }
  /** An index elsewhere knows no types: when too few of the nearest have one, it looks at all. */
  async function searchElsewhere(
    vectorIndex: VectorIndex,
    { types, ...filter }: SearchFilter,
    question: readonly number[],
    limit: number,
  ): Promise<SearchHit[]> {
    for (const most of [limit, MOST_LOOKED_AT]) {
      const nearest = await vectorIndex.nearest(filter, question, most);
      const ids = nearest.map(({ id }) => id);
      const found = inOrder(nearest, await fetch(filter.ownerKey, ids, types)).slice(0, limit);
      if (types === undefined || found.length === limit || nearest.length < most) return found;
    }
    return [];
  }

  return {
    dimensions,
    async upsert(documents) {
      const last = [...new Map(documents.map((document) => [document.id, document])).values()];
      const rows = last.map((document) => toTexts(document, definition));
      if (rows.length === 0) return;
      const columns = rows[0]?.map((_, position) => rows.map((row) => row[position] ?? "")) ?? [];
      const embeddings = last.flatMap(({ embedding }) => checkEmbedding(embedding, dimensions));
      await run(statements.upsert, level === "milvus" ? columns : [...columns, VECTOR_COLUMNS[level].value(embeddings)]);
      // Afterwards: Milvus would recreate the collections of a dropped index.
      await elsewhere?.upsert(last);
    },
    async searchVectors(filter, embedding, limit) {
      const [question, values] = [checkEmbedding(embedding, dimensions), filterValues(filter)];
      if (level === "pgvector") return hits(statements.searchVectors, filter.ownerKey, [...values, vectorValue(question), limit]);
      const ask = async (after: StatementValue[]): Promise<VectorsRow | undefined> =>
        (await run<VectorsRow>(statements.vectors, [...values, ...after]))[0];
      if (elsewhere) return searchElsewhere(elsewhere, filter, question, limit);
      const nearest = await nearestVectors(question, limit, ask);
      const ids = nearest.map(({ id }) => id);
      return inOrder(nearest, await fetch(filter.ownerKey, ids));
    },
    async searchWords(filter, lexicalQuery, limit) {
      const words = wordsOf(lexicalQuery).filter((word) => Buffer.byteLength(word) <= LONGEST_WORD_BYTES);
      const values = [...filterValues(filter), words, limit, Math.max(limit, WORD_CANDIDATES)];
      const [row] = words.length === 0 ? [] : await run<WordSearchRow>(statements.searchWords, values);
      if (!row?.asked || row.candidates === null) return [];
      const ranked = rankByWords({ ...row, asked: row.asked }, readCandidates(row.candidates), limit);
      const ids = ranked.map(({ id }) => id);
      return inOrder(ranked, row.hits ? hitsOf(filter.ownerKey, row.hits) : await fetch(filter.ownerKey, ids));
    },
    listByWords: (ownerKey, words, { createdAt, id }, limit) =>
      hits(statements.listByWords, ownerKey, [checkOwnerKey(ownerKey), words.map(storableText), createdAt, checkUuid(id), limit]),
    fetch: (ownerKey, ids) => fetch(ownerKey, ids),
    removeGroups: async (ownerKey, groupIds) => removeAll("removeGroups", ownerKey, groupIds),
    remove: async (ownerKey, ids) => removeAll("remove", ownerKey, ids),
    async count(ownerKey) {
      const key = ownerKey === undefined ? null : checkOwnerKey(ownerKey);
      return elsewhere ? elsewhere.count(ownerKey) : runCount(statements.count, [key]);
    },
    flush: async () => void (await Promise.all([run(statements.flush), elsewhere?.flush()])),
  };
}

const ofTypes = ({ type }: IndexDefinition, types: string): string =>
  `(${types}::text[] is null or ${type === undefined ? "false" : `"${type}" = any(${types})`})`;

/** $2 group, $3 from, $4 until, $5 types; each may be null. */
const narrowedSql = (definition: IndexDefinition): string => `
  and ($2::uuid is null or group_id = $2)
  and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)
  and ${ofTypes(definition, "$5")}`;

/** $1 owner, $2 groups or ids, $3 limit. */
const deletionSql = (table: string, column: string): string => `
with removed as (
  delete from ${table} where id = any(array(select id from ${table} where owner_key = $1 and ${column} = any($2::uuid[]) limit $3)) returning 1
)
select count(*)::int as count from removed`;

function indexStatements(definition: IndexDefinition, level: SearchLevel) {
  const { name, dimensions } = definition;
  const table = `search."${name}"`;
  const types = Object.entries(indexColumns(definition, level)).filter(([column]) => column !== "embedding");
  const texts = types.map(([column]) => column);
  const given = types.map(([column, type], position) =>
    column === "previous_id" ? `nullif(item.c${position}, '')::uuid` : `item.c${position}::${type}`,
  );
  const embedding = level === "milvus" ? [] : [VECTOR_COLUMNS[level].at(`$${texts.length + 1}`, dimensions)];
  const columns = [...texts, ...(level === "milvus" ? [] : ["embedding"])].map((column) => `"${column}"`);
  const written = columns.filter((column) => column !== `"id"`);
  const hit = hitColumns(definition);
  const narrowed = narrowedSql(definition);
  const matches = `where owner_key = $1 ${narrowed}`;
  const unscored = hitsAsJson(definition, { score: "0" });
  const inTime = hitsAsJson(definition, { score: "0", order: "order by created_at desc, id desc" });
  // With a digest: an index with other columns must not share statement names.
  const statement = (what: string, text: string) => ({
    name: `search-${what}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`,
    text,
  });
  return {
    /** One array of texts per column, all embeddings in one value. Leaves unchanged documents alone: their words are not counted again. */
    upsert: statement(
      "upsert",
      `insert into ${table} as stored (${columns.join(", ")})
select ${[...given, ...embedding].join(", ")}
from unnest(${texts.map((_, position) => `$${position + 1}::text[]`).join(", ")}) with ordinality as item(${texts.map((_, position) => `c${position}`).join(", ")}, number)
on conflict (id) do update set ${written.map((column) => `${column} = excluded.${column}`).join(", ")}
where (${written.map((column) => `stored.${column}`).join(", ")}) is distinct from (${written.map((column) => `excluded.${column}`).join(", ")})`,
    ),
    searchVectors: statement(
      "vectors",
      `select ${hitsAsJson(definition, { score: "1 - distance", order: "order by distance, id" })} as hits
from (select ${hit}, embedding <=> $6::vector as distance from ${table} ${matches} order by distance, id limit $7) as nearest`,
    ),
    vectors: statement("compare", vectorsSql(table, matches)),
    searchWords: statement("words", wordSearchSql({ name, matches, narrowed, hit, hits: unscored })),
    fetch: statement(
      "fetch",
      `select ${unscored} as hits from ${table} where owner_key = $1 and id = any($2::uuid[]) and ${ofTypes(definition, "$3")}`,
    ),
    listByWords: statement("list", listByWordsSql({ name, hit, hits: inTime })),
    removeGroups: statement("remove-groups", deletionSql(table, "group_id")),
    remove: statement("remove", deletionSql(table, "id")),
    count: statement("count", `select count(*)::int as count from ${table} where $1::text is null or owner_key = $1`),
    flush: { text: `vacuum (analyze) ${table}, ${wordTable(name)}` },
  };
}
