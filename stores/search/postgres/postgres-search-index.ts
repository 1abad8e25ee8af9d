import type { Database, Statement, StatementValue } from "../../postgres/database.ts";
import { checkEmbedding } from "../check-embedding.ts";
import { checkMoment, checkOwnerKey, checkUuid } from "../check-key.ts";
import type { IndexDefinition, SearchDocument, SearchFilter, SearchHit, SearchIndex } from "../search-index.ts";
import { storableText } from "../storable-text.ts";
import { realsValue, vectorValue } from "./binary-values.ts";
import { hitOf, type HitValues } from "./hit-values.ts";
import { indexStatements } from "./index-statements.ts";
import { toIndexError } from "./to-index-error.ts";
import { rankByWords, type WordMatches } from "./word-ranking.ts";

/** Documents that one statement removes: a group may have any number. */
const REMOVED_AT_ONCE = 2_000;
/** Postgres indexes no longer ones, and refuses them in a query. */
const LONGEST_WORD_BYTES = 2_000;

function wordsOf(lexicalText: string): string[] {
  return storableText(lexicalText).split(/\s+/).filter(Boolean);
}

/** A tsquery that any of these words fulfils. https://www.postgresql.org/docs/current/datatype-textsearch.html#DATATYPE-TSQUERY */
function toAlternatives(words: readonly string[]): string {
  return [...new Set(words)].map((word) => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`).join(" | ");
}

/** The values of a document in the order of indexColumns without its embedding, as texts. */
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
  const { dimensions } = definition;
  const statements = indexStatements(definition);
  const run = <Row>(statement: Statement, values?: readonly StatementValue[]): Promise<Row[]> =>
    database.query<Row>(values ? { ...statement, values } : statement).catch(toIndexError);
  const counted = async (statement: Statement, values: readonly StatementValue[]): Promise<number> => {
    const [row] = await run<{ count: number }>(statement, values);
    return row?.count ?? 0;
  };
  async function removeAll(statement: Statement, ownerKey: string, ids: readonly string[]): Promise<number> {
    const values = [checkOwnerKey(ownerKey), ids.map(checkUuid), REMOVED_AT_ONCE];
    for (let removed = 0; ;) {
      const count = await counted(statement, values);
      removed += count;
      if (count < REMOVED_AT_ONCE) return removed;
    }
  }
  const hitsOf = (ownerKey: string, values: readonly HitValues[] | null | undefined): SearchHit[] =>
    (values ?? []).map((one) => hitOf(one, ownerKey, definition));
  const hits = async (statement: Statement, ownerKey: string, values: readonly StatementValue[]): Promise<SearchHit[]> => {
    const [row] = await run<{ hits: HitValues[] | null }>(statement, values);
    return hitsOf(ownerKey, row?.hits);
  };
  async function fetch(ownerKey: string, ids: readonly string[]): Promise<SearchHit[]> {
    return ids.length === 0 ? [] : hits(statements.fetch, ownerKey, [checkOwnerKey(ownerKey), ids.map(checkUuid)]);
  }

  return {
    dimensions,
    async upsert(documents) {
      const last = [...new Map(documents.map((document) => [document.id, document])).values()];
      const rows = last.map((document) => toTexts(document, definition));
      if (rows.length === 0) return;
      const columns = rows[0]?.map((_, position) => rows.map((row) => row[position] ?? "")) ?? [];
      await run(statements.upsert, [...columns, realsValue(last.flatMap(({ embedding }) => checkEmbedding(embedding, dimensions)))]);
    },
    async searchVectors(filter, embedding, limit) {
      const vector = vectorValue(checkEmbedding(embedding, dimensions));
      return hits(statements.searchVectors, filter.ownerKey, [...filterValues(filter), vector, limit]);
    },
    async searchWords(filter, lexicalQuery, limit) {
      const words = wordsOf(lexicalQuery).filter((word) => Buffer.byteLength(word) <= LONGEST_WORD_BYTES);
      const values = [...filterValues(filter), words, toAlternatives(words), limit];
      const [matches] = words.length === 0 ? [] : await run<WordMatches>(statements.searchWords, values);
      const ranked = matches ? rankByWords(matches, limit) : [];
      const ids = ranked.map(({ id }) => id);
      const found = matches?.hits ? hitsOf(filter.ownerKey, matches.hits) : await fetch(filter.ownerKey, ids);
      const byId = new Map(found.map((hit) => [hit.id, hit]));
      return ranked.flatMap(({ id, score }) => {
        const hit = byId.get(id); // none when it has just been removed
        return hit ? [{ ...hit, score }] : [];
      });
    },
    fetch,
    removeGroups: async (ownerKey, groupIds) => removeAll(statements.removeGroups, ownerKey, groupIds),
    remove: async (ownerKey, ids) => removeAll(statements.remove, ownerKey, ids),
    count: async (ownerKey) => counted(statements.count, [ownerKey === undefined ? null : checkOwnerKey(ownerKey)]),
    flush: async () => void (await run(statements.flush)),
  };
}
