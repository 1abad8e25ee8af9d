import { ConsistencyLevelEnum, type MilvusClient } from "@zilliz/milvus2-sdk-node";
import type { BulkheadPolicy } from "cockatiel";
import {
  checkEmbedding,
  type IndexDefinition,
  type SearchDocument,
  type SearchFilter,
  type SearchHit,
  type SearchIndex,
} from "../search-index.ts";
import { storableText } from "../../../text/storable-text.ts";
import { checkMilvusResponse, MilvusRefusal } from "./milvus-errors.ts";
import type { Readiness } from "./collection-readiness.ts";
import { checkMoment, checkOwnerKey, checkUuid } from "../index-keys.ts";
import { MAX_TEXT_BYTES } from "./prepare-collection.ts";

type MilvusRow = Record<string, string | number | number[]>;

function truncateText(text: string): string {
  const storable = storableText(text);
  if (storable.length * 3 <= MAX_TEXT_BYTES) return storable;
  const bytes = Buffer.from(storable);
  return bytes.length <= MAX_TEXT_BYTES ? storable : new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: true });
}

function toMilvusRow(document: SearchDocument, { dimensions, attributes }: IndexDefinition): MilvusRow {
  const own = Object.entries(attributes).map(([name, type]) => {
    const value = document.attributes[name];
    return [name, type === "number" ? Number(value) : truncateText(String(value))] as const;
  });
  return {
    id: checkUuid(document.id),
    owner_key: checkOwnerKey(document.ownerKey),
    group_id: checkUuid(document.groupId),
    previous_id: document.previousId === null ? "" : checkUuid(document.previousId),
    created_at: document.createdAt.getTime(),
    lexical_text: truncateText(document.lexicalText),
    embedding: [...checkEmbedding(document.embedding, dimensions)],
    ...Object.fromEntries(own),
  };
}

function hitFields({ attributes }: IndexDefinition): string[] {
  return ["id", "owner_key", "group_id", "previous_id", "created_at", ...Object.keys(attributes)];
}

function toHit(row: Readonly<Record<string, unknown>>, score: number, { attributes }: IndexDefinition): SearchHit {
  const own = Object.entries(attributes).map(([name, type]) => [name, type === "number" ? Number(row[name]) : String(row[name])] as const);
  return {
    id: String(row["id"]),
    ownerKey: String(row["owner_key"]),
    groupId: String(row["group_id"]),
    previousId: row["previous_id"] === "" ? null : String(row["previous_id"]),
    createdAt: new Date(Number(row["created_at"])),
    score,
    attributes: Object.fromEntries(own),
  };
}

interface MilvusSelection extends SearchFilter {
  groupIds?: readonly string[];
  ids?: readonly string[];
}

const listOf = (ids: readonly string[]): string => `[${ids.map((id) => `"${checkUuid(id)}"`).join(", ")}]`;

/** Throws TypeError for what is no UUID. */
const filterByIds = (ids: readonly string[]): string => `id in ${listOf(ids)}`;

/**
 * Milvus Lite has no parameters, so values stand in the text: checked keys and ids, and whole numbers. Throws TypeError for anything else.
 */
function milvusFilter({ ownerKey, groupId, groupIds, from, until, ids }: MilvusSelection): string {
  const conditions = [
    `owner_key == "${checkOwnerKey(ownerKey)}"`,
    groupId !== undefined && `group_id == "${checkUuid(groupId)}"`,
    from && `created_at >= ${checkMoment(from).getTime()}`,
    until && `created_at < ${checkMoment(until).getTime()}`,
    groupIds && `group_id in ${listOf(groupIds)}`,
    ids && filterByIds(ids),
  ];
  return conditions.filter(Boolean).join(" and ");
}

/** Milvus takes no more. */
const MAX_LIMIT = 16_384;
const REMOVED_AT_ONCE = 1_000;
/** A message may have 64 MB, each text 65 KB. */
const ROWS_PER_MESSAGE = 200;
/** In milliseconds. Milvus Lite under load may take more than 10 s for 200 rows. */
const WRITE_TIMEOUT_MS = 30_000;
const FLUSH_TIMEOUT_MS = 120_000;

interface MilvusIndexParts {
  client: MilvusClient;
  definition: IndexDefinition;
  readiness: Readiness;
  /** One write at a time, for Milvus Lite. */
  mutex: BulkheadPolicy;
}

export function makeMilvusSearchIndex({ client, definition, readiness, mutex }: MilvusIndexParts): SearchIndex {
  const target = { collection_name: definition.name };
  const consistent = { consistency_level: ConsistencyLevelEnum.Strong };
  const written = { ...target, timeout: WRITE_TIMEOUT_MS };

  const search = (filter: SearchFilter, what: { anns_field: string; metric_type: string; data: number[] | string }, limit: number) => {
    const request = {
      ...target,
      ...consistent,
      ...what,
      filter: milvusFilter(filter),
      limit: Math.min(limit, MAX_LIMIT),
      output_fields: hitFields(definition),
    };
    return readiness.read(async (): Promise<SearchHit[]> => {
      const { results } = await checkMilvusResponse(client.search(request));
      // Milvus Lite returns BM25 as a negative distance.
      return results.map((row) => toHit(row, what.metric_type === "BM25" ? Math.abs(row.score) : row.score, definition));
    }, []);
  };
  const ask = async (what: { filter: string; output_fields: string[]; limit?: number; timeout?: number }) =>
    (await checkMilvusResponse(client.query({ ...target, ...consistent, ...what }))).data;
  const query = (filter: string, output_fields: string[]) => readiness.read(() => ask({ filter, output_fields }), []);
  const removeSome = (filter: string): Promise<number> =>
    mutex.execute(() =>
      readiness.change(async () => {
        const found = await ask({ filter, output_fields: ["id"], limit: REMOVED_AT_ONCE, timeout: WRITE_TIMEOUT_MS });
        if (found.length === 0) return 0;
        const filterOfIds = filterByIds(found.map(({ id }) => String(id)));
        return Number(
          (await checkMilvusResponse(client.delete({ ...written, consistency_level: "Strong", filter: filterOfIds }))).delete_cnt,
        );
      }, 0),
    );
  async function remove(filter: string): Promise<number> {
    for (let removed = 0; ;) {
      const count = await removeSome(filter);
      removed += count;
      if (count < REMOVED_AT_ONCE) return removed;
    }
  }
  /**
   * Checks that the rows arrived: Milvus Lite may lose them (SETTLE_MS in collection-readiness.ts). Only the job may repeat the write: they
   * may have been erased meanwhile.
   */
  async function put(data: MilvusRow[]): Promise<void> {
    await checkMilvusResponse(client.upsert({ ...written, data }));
    const found = await ask({ filter: filterByIds(data.map(({ id }) => String(id))), output_fields: ["id"], timeout: WRITE_TIMEOUT_MS });
    if (found.length >= data.length) return;
    throw new MilvusRefusal("lost", `${data.length - found.length} of the documents written to ${definition.name} are not there`);
  }

  return {
    dimensions: definition.dimensions,
    async upsert(documents) {
      const rows = [...new Map(documents.map((document) => [document.id, toMilvusRow(document, definition)])).values()];
      for (let start = 0; start < rows.length; start += ROWS_PER_MESSAGE) {
        const data = rows.slice(start, start + ROWS_PER_MESSAGE);
        await mutex.execute(() => readiness.write(() => put(data)));
      }
    },
    async searchVectors(filter, embedding, limit) {
      const data = [...checkEmbedding(embedding, definition.dimensions)];
      return search(filter, { anns_field: "embedding", metric_type: "COSINE", data }, limit);
    },
    async searchWords(filter, lexicalQuery, limit) {
      const data = storableText(lexicalQuery);
      return data.trim() === "" ? [] : search(filter, { anns_field: "lexical_vector", metric_type: "BM25", data }, limit);
    },
    async fetch(ownerKey, ids) {
      if (ids.length === 0) return [];
      return (await query(milvusFilter({ ownerKey, ids }), hitFields(definition))).map((row) => toHit(row, 0, definition));
    },
    removeGroups: async (ownerKey, groupIds) => (groupIds.length === 0 ? 0 : remove(milvusFilter({ ownerKey, groupIds }))),
    remove: async (ownerKey, ids) => (ids.length === 0 ? 0 : remove(milvusFilter({ ownerKey, ids }))),
    async count(ownerKey) {
      const [row] = await query(ownerKey === undefined ? "" : milvusFilter({ ownerKey }), ["count(*)"]);
      return Number(row?.["count(*)"] ?? 0);
    },
    async flush() {
      const flushed = { collection_names: [definition.name], timeout: FLUSH_TIMEOUT_MS };
      await mutex.execute(() => readiness.change(async () => void (await checkMilvusResponse(client.flushSync(flushed))), undefined));
    },
  };
}
