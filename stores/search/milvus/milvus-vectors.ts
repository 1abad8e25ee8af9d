import { ConsistencyLevelEnum, type MilvusClient } from "@zilliz/milvus2-sdk-node";
import { checkEmbedding, type SearchDocument, type SearchFilter, type VectorIndex } from "../contract/search-index.ts";
import { checkMilvusResponse, MilvusRefusal, throwRefusal } from "./milvus-errors.ts";
import type { Readiness } from "./collection-readiness.ts";
import { checkMoment, checkOwnerKey, checkUuid } from "../../index-keys.ts";
import type { VectorCollection } from "./prepare-collection.ts";

function toMilvusRow(document: SearchDocument, dimensions: number): { id: string } & Record<string, string | number | number[]> {
  return {
    id: checkUuid(document.id),
    owner_key: checkOwnerKey(document.ownerKey),
    group_id: checkUuid(document.groupId),
    created_at: document.createdAt.getTime(),
    embedding: [...checkEmbedding(document.embedding, dimensions)],
  };
}

interface MilvusSelection extends SearchFilter {
  groupIds?: readonly string[];
  ids?: readonly string[];
}

const listOf = (ids: readonly string[]): string => `[${ids.map((id) => `"${checkUuid(id)}"`).join(", ")}]`;

/** Throws TypeError for anything but a UUID. */
const filterByIds = (ids: readonly string[]): string => `id in ${listOf(ids)}`;

/** Milvus Lite has no parameters, so the text holds checked keys and ids, and whole numbers. Throws TypeError for anything else. */
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
/**
 * Milvus answers at once with what it has read of its log, at least with all that is 5 s old. What a write has read back with `Strong`, which
 * waits for the log's next tick, is among it: a shard's leader never goes back. Several replicas have a leader each, so one may lack the last
 * seconds, whose words Postgres has. `Session` needs the time of the write, which the SDK does not send.
 * https://github.com/milvus-io/milvus/blob/v2.3.5/internal/querynodev2/delegator/delegator.go
 */
const AS_READ = { consistency_level: ConsistencyLevelEnum.Bounded };
/** HNSW's `ef`. Milvus' default misses near vectors. */
const EXPLORED = 512;
/** A message may have 64 MB, a vector 130 KB. */
const ROWS_PER_MESSAGE = 200;
/** In milliseconds. Milvus Lite under load may take more than 10 s for 200 rows. */
const WRITE_TIMEOUT_MS = 30_000;
const FLUSH_TIMEOUT_MS = 120_000;

interface MilvusVectorParts {
  client: MilvusClient;
  definition: VectorCollection;
  readiness: Readiness;
  isLite: () => Promise<boolean>;
  /** Runs a write, where necessary after the others. */
  inTurn: <Result>(write: () => Promise<Result>) => Promise<Result>;
}

export function makeMilvusVectors({ client, definition, readiness, isLite, inTurn }: MilvusVectorParts): VectorIndex {
  const target = { collection_name: definition.name };
  const consistent = { consistency_level: ConsistencyLevelEnum.Strong };
  const written = { ...target, timeout: WRITE_TIMEOUT_MS };

  const ask = async (what: { filter: string; output_fields: string[]; limit?: number; timeout?: number }) =>
    (await checkMilvusResponse(client.query({ ...target, ...consistent, ...what }))).data;
  const removeSome = (filter: string): Promise<number> =>
    inTurn(() =>
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
  async function put(data: ReturnType<typeof toMilvusRow>[]): Promise<void> {
    await checkMilvusResponse(client.upsert({ ...written, data }));
    const found = await ask({ filter: filterByIds(data.map(({ id }) => id)), output_fields: ["id"], timeout: WRITE_TIMEOUT_MS });
    if (found.length >= data.length) return;
    throw new MilvusRefusal("lost", `${data.length - found.length} of the documents written to ${definition.name} are not there`);
  }

  return {
    async upsert(documents) {
      const rows = documents.map((document) => toMilvusRow(document, definition.dimensions));
      for (let start = 0; start < rows.length; start += ROWS_PER_MESSAGE) {
        const data = rows.slice(start, start + ROWS_PER_MESSAGE);
        await inTurn(() => readiness.write(() => put(data)));
      }
    },
    async nearest(filter, embedding, limit) {
      const request = {
        ...target,
        ...AS_READ,
        anns_field: "embedding",
        metric_type: "COSINE",
        data: [...checkEmbedding(embedding, definition.dimensions)],
        filter: milvusFilter(filter),
        limit: Math.min(limit, MAX_LIMIT),
        output_fields: ["id"],
        params: { ef: Math.max(limit, EXPLORED) },
      };
      return readiness.read(async () => {
        const { results } = await checkMilvusResponse(client.search(request));
        return results.map(({ id, score }) => ({ id: String(id), score }));
      }, []);
    },
    removeGroups: async (ownerKey, groupIds) => (groupIds.length === 0 ? 0 : remove(milvusFilter({ ownerKey, groupIds }))),
    remove: async (ownerKey, ids) => (ids.length === 0 ? 0 : remove(milvusFilter({ ownerKey, ids }))),
    async count(ownerKey) {
      const filter = ownerKey === undefined ? "" : milvusFilter({ ownerKey });
      const [row] = await readiness.read(() => ask({ filter, output_fields: ["count(*)"] }), []);
      return Number(row?.["count(*)"] ?? 0);
    },
    /** A server optimises by itself, and takes few flushes: one in ten seconds by default, since 2.4. */
    async flush() {
      if (!(await isLite().catch(throwRefusal))) return;
      const flushed = { collection_names: [definition.name], timeout: FLUSH_TIMEOUT_MS };
      await inTurn(() => readiness.change(async () => void (await checkMilvusResponse(client.flushSync(flushed))), undefined));
    },
  };
}
