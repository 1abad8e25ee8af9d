import { setTimeout as sleep } from "node:timers/promises";
import { type CreateCollectionWithFieldsReq, DataType, type MilvusClient } from "@zilliz/milvus2-sdk-node";
import { AppError } from "../../../errors/app-error.ts";
import type { IndexDefinition } from "../contract/search-index.ts";
import { checkMilvusResponse, INDEX_NOT_FOUND, MilvusRefusal } from "./milvus-errors.ts";

const KEY_BYTES = 64;

export type VectorCollection = Pick<IndexDefinition, "name" | "dimensions">;

/** Words and attributes are in Postgres. */
export function collectionSchema({ name, dimensions }: VectorCollection, isPartitioned = true): CreateCollectionWithFieldsReq {
  return {
    collection_name: name,
    fields: [
      { name: "id", data_type: DataType.VarChar, max_length: KEY_BYTES, is_primary_key: true },
      { name: "owner_key", data_type: DataType.VarChar, max_length: KEY_BYTES, is_partition_key: isPartitioned },
      { name: "group_id", data_type: DataType.VarChar, max_length: KEY_BYTES },
      { name: "created_at", data_type: DataType.Int64 },
      { name: "embedding", data_type: DataType.FloatVector, dim: dimensions },
    ],
    shards_num: 1,
    consistency_level: "Strong",
    enable_dynamic_field: false,
  };
}

const VECTOR_INDEX = { field_name: "embedding", index_type: "AUTOINDEX", metric_type: "COSINE", params: {} };

const POLL_MS = 50;
/** Milvus Lite refuses the second creation before it shows the first. */
const LOOKS = 20;

/** Throws AppError `invalid_configuration` when the vectors of the collection have another size. */
async function checkDimensions(client: MilvusClient, definition: VectorCollection, timeout: number): Promise<void> {
  const { schema } = await checkMilvusResponse(client.describeCollection({ collection_name: definition.name, timeout }));
  const embedding = schema.fields.find(({ name }) => name === "embedding");
  const dimensions = Number(embedding?.type_params.find(({ key }) => key === "dim")?.value);
  if (dimensions === definition.dimensions) return;
  throw new AppError(
    "invalid_configuration",
    `The search index "${definition.name}" does not fit this service: it has ${dimensions} dimensions, not ${definition.dimensions}. Run \`npm run reindex\`.`,
  );
}

async function isIndexed(client: MilvusClient, name: string, timeout: number): Promise<boolean> {
  try {
    return (await checkMilvusResponse(client.describeIndex({ collection_name: name, timeout }))).index_descriptions.length > 0;
  } catch (error) {
    if (error instanceof MilvusRefusal && error.code === INDEX_NOT_FOUND) return false;
    throw error;
  }
}

export async function exists(client: MilvusClient, name: string, timeout?: number): Promise<boolean> {
  const { value } = await checkMilvusResponse(
    client.hasCollection({ collection_name: name, ...(timeout === undefined ? {} : { timeout }) }),
  );
  return value === true;
}

/** They put the rows of an upsert into other partitions than they search: https://github.com/milvus-io/milvus/issues/30607 */
const WITHOUT_PARTITIONS = /^v?2\.[0-3]\./;

async function create(client: MilvusClient, definition: VectorCollection, timeout: number): Promise<void> {
  const { version } = await checkMilvusResponse(client.getVersion());
  const schema = collectionSchema(definition, !WITHOUT_PARTITIONS.test(version));
  try {
    await checkMilvusResponse(client.createCollection({ ...schema, timeout }));
  } catch (error) {
    if (!(error instanceof MilvusRefusal)) throw error;
    for (let look = 0; !(await exists(client, definition.name, timeout)); look++) {
      if (look === LOOKS) throw error;
      await sleep(POLL_MS);
    }
  }
}

async function createIndex(client: MilvusClient, name: string, timeout: number): Promise<void> {
  if (await isIndexed(client, name, timeout)) return;
  try {
    await checkMilvusResponse(client.createIndex({ collection_name: name, ...VECTOR_INDEX, timeout }));
  } catch (error) {
    // Another process may have been faster.
    if (!(error instanceof MilvusRefusal) || !(await isIndexed(client, name, timeout))) throw error;
  }
}

export async function collectionNames(client: MilvusClient, timeout?: number): Promise<string[]> {
  return (await checkMilvusResponse(client.showCollections(timeout === undefined ? {} : { timeout }))).data.map(({ name }) => name);
}

/**
 * Creates the missing index of a collection and loads it; each step may follow a crash. Creates the collection only with `creates`. Returns
 * whether it exists.
 */
export async function prepareCollection(
  client: MilvusClient,
  definition: VectorCollection,
  { answerMs, workMs: timeout, creates }: { answerMs: number; workMs: number; creates: boolean },
): Promise<boolean> {
  const collection_name = definition.name;
  if (!(await exists(client, collection_name, answerMs))) {
    if (!creates) return false;
    await create(client, definition, timeout);
  }
  await checkDimensions(client, definition, timeout);
  await createIndex(client, collection_name, timeout);
  await checkMilvusResponse(client.loadCollectionAsync({ collection_name, timeout }));
  const deadline = Date.now() + timeout;
  for (;;) {
    const { progress } = await checkMilvusResponse(client.getLoadingProgress({ collection_name, timeout }));
    if (Number(progress) >= 100) return true;
    if (Date.now() > deadline) throw new AppError("index_unavailable", `The search index "${collection_name}" is still being loaded.`);
    await sleep(POLL_MS);
  }
}
