import type { Database, Statement, StatementValue } from "../../postgres/database.ts";
import { checkEmbedding } from "../check-embedding.ts";
import { checkMoment, checkOwnerKey, checkUuid } from "../check-key.ts";
import type { IndexDefinition, SearchDocument, SearchFilter, SearchHit, SearchIndex } from "../search-index.ts";
import { storableText } from "../storable-text.ts";
import { indexStatements } from "./index-statements.ts";
import { toIndexError } from "./to-index-error.ts";
import { rankByWords, type WordMatches } from "./word-ranking.ts";

interface HitRow extends Record<string, unknown> {
  id: string;
  owner_key: string;
  group_id: string;
  previous_id: string | null;
  created_at: Date;
  score: number;
}

/** Postgres indexes no longer ones, and refuses them in a query. */
const LONGEST_WORD_BYTES = 2_000;

function wordsOf(lexicalText: string): string[] {
  return storableText(lexicalText).split(/\s+/).filter(Boolean);
}

/** A tsquery that any of these words fulfils. https://www.postgresql.org/docs/current/datatype-textsearch.html#DATATYPE-TSQUERY */
function toAlternatives(words: readonly string[]): string {
  return [...new Set(words)].map((word) => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`).join(" | ");
}

function toHit(row: HitRow): SearchHit {
  const { id, owner_key, group_id, previous_id, created_at, score, ...attributes } = row;
  return {
    id,
    ownerKey: owner_key,
    groupId: group_id,
    previousId: previous_id,
    createdAt: created_at,
    score,
    attributes: attributes as SearchHit["attributes"],
  };
}

/** The values of a document in the order of indexColumns, as texts. */
function toTexts(document: SearchDocument, { dimensions, attributes }: IndexDefinition): string[] {
  return [
    checkUuid(document.id),
    checkOwnerKey(document.ownerKey),
    checkUuid(document.groupId),
    document.previousId === null ? "" : checkUuid(document.previousId),
    document.createdAt.toISOString(),
    wordsOf(document.lexicalText).join(" "),
    JSON.stringify(checkEmbedding(document.embedding, dimensions)),
    ...Object.keys(attributes).map((name) => storableText(String(document.attributes[name]))),
  ];
}

function filterValues({ ownerKey, groupId, from, until }: SearchFilter): StatementValue[] {
  return [
    checkOwnerKey(ownerKey),
    groupId === undefined ? null : checkUuid(groupId),
    from ? checkMoment(from) : null,
    until ? checkMoment(until) : null,
  ];
}

/** An index in a table that is there. */
export function makePostgresSearchIndex(database: Database, definition: IndexDefinition): SearchIndex {
  const statements = indexStatements(definition);
  const run = <Row>(statement: Statement, values?: readonly StatementValue[]): Promise<Row[]> =>
    database.query<Row>(values ? { ...statement, values } : statement).catch(toIndexError);
  const counted = async (statement: Statement, values: readonly StatementValue[]): Promise<number> => {
    const [row] = await run<{ count: number }>(statement, values);
    return row?.count ?? 0;
  };
  async function fetch(ownerKey: string, ids: readonly string[]): Promise<SearchHit[]> {
    const values = [checkOwnerKey(ownerKey), ids.map(checkUuid)];
    return ids.length === 0 ? [] : (await run<HitRow>(statements.fetch, values)).map(toHit);
  }

  return {
    dimensions: definition.dimensions,
    async upsert(documents) {
      const rows = [...new Map(documents.map((document) => [document.id, toTexts(document, definition)])).values()];
      if (rows.length === 0) return;
      const columns = rows[0]?.map((_, position) => rows.map((row) => row[position] ?? "")) ?? [];
      await run(statements.upsert, columns);
    },
    async searchVectors(filter, embedding, limit) {
      const vector = JSON.stringify(checkEmbedding(embedding, definition.dimensions));
      return (await run<HitRow>(statements.searchVectors, [...filterValues(filter), vector, limit])).map(toHit);
    },
    async searchWords(filter, lexicalQuery, limit) {
      const words = wordsOf(lexicalQuery).filter((word) => Buffer.byteLength(word) <= LONGEST_WORD_BYTES);
      const values = [...filterValues(filter), words, toAlternatives(words)];
      const [matches] = words.length === 0 ? [] : await run<WordMatches>(statements.searchWords, values);
      const ranked = matches ? rankByWords(matches, limit) : [];
      const fetched = await fetch(
        filter.ownerKey,
        ranked.map(({ id }) => id),
      );
      const hitOf = new Map(fetched.map((hit) => [hit.id, hit]));
      return ranked.flatMap(({ id, score }) => {
        const hit = hitOf.get(id); // none when it has just been removed
        return hit ? [{ ...hit, score }] : [];
      });
    },
    fetch,
    removeGroups: async (ownerKey, groupIds) => counted(statements.removeGroups, [checkOwnerKey(ownerKey), groupIds.map(checkUuid)]),
    remove: async (ownerKey, ids) => counted(statements.remove, [checkOwnerKey(ownerKey), ids.map(checkUuid)]),
    count: async (ownerKey) => counted(statements.count, [ownerKey === undefined ? null : checkOwnerKey(ownerKey)]),
    flush: async () => void (await run(statements.flush)),
  };
}
