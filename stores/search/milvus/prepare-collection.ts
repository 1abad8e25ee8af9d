import { setTimeout as sleep } from "node:timers/promises";
import { type CreateCollectionWithFieldsReq, DataType, type FieldType, FunctionType, type MilvusClient } from "@zilliz/milvus2-sdk-node";
import { AppError } from "../../../errors/app-error.ts";
import type { IndexDefinition } from "../search-index.ts";
import { checkMilvusResponse, INDEX_NOT_FOUND, MilvusRefusal } from "./milvus-errors.ts";

/** Milvus takes no more. */
export const MAX_TEXT_BYTES = 65_535;
const KEY_BYTES = 64;

const ATTRIBUTE_FIELDS = {
  text: { data_type: DataType.VarChar, max_length: MAX_TEXT_BYTES },
  number: { data_type: DataType.Double },
} as const;

function fields({ dimensions, attributes }: IndexDefinition): FieldType[] {
  return [
    { name: "id", data_type: DataType.VarChar, max_length: KEY_BYTES, is_primary_key: true },
    { name: "owner_key", data_type: DataType.VarChar, max_length: KEY_BYTES, is_partition_key: true },
    { name: "group_id", data_type: DataType.VarChar, max_length: KEY_BYTES },
    { name: "previous_id", data_type: DataType.VarChar, max_length: KEY_BYTES },
    { name: "created_at", data_type: DataType.Int64 },
    {
      name: "lexical_text",
      data_type: DataType.VarChar,
      max_length: MAX_TEXT_BYTES,
      enable_analyzer: true,
      // Splits at spaces only. Milvus Lite has no "whitespace".
      analyzer_params: { tokenizer: "standard" },
    },
    { name: "lexical_vector", data_type: DataType.SparseFloatVector },
    { name: "embedding", data_type: DataType.FloatVector, dim: dimensions },
    ...Object.entries(attributes).map(([name, type]) => ({ name, ...ATTRIBUTE_FIELDS[type] })),
  ];
}

/** One shard, because BM25 counts words per shard. */
export function collectionSchema(definition: IndexDefinition): CreateCollectionWithFieldsReq {
  return {
    collection_name: definition.name,
    fields: fields(definition),
    functions: [
      { name: "bm25", type: FunctionType.BM25, input_field_names: ["lexical_text"], output_field_names: ["lexical_vector"], params: {} },
    ],
    shards_num: 1,
    consistency_level: "Strong",
    enable_dynamic_field: false,
  };
}

const VECTOR_INDEXES = [
  { field_name: "embedding", index_type: "AUTOINDEX", metric_type: "COSINE", params: {} },
  { field_name: "lexical_vector", index_type: "SPARSE_INVERTED_INDEX", metric_type: "BM25", params: { bm25_k1: 1.2, bm25_b: 0.75 } },
];

const POLL_MS = 50;
/** Milvus Lite refuses the second creation before it shows the first. */
const LOOKS = 20;

/** Throws AppError `invalid_configuration` when the collection has another schema. */
async function checkFields(client: MilvusClient, definition: IndexDefinition, timeout: number): Promise<void> {
  const { schema } = await checkMilvusResponse(client.describeCollection({ collection_name: definition.name, timeout }));
  const found = new Map(schema.fields.map((field) => [field.name, field]));
  const missing = collectionSchema(definition).fields.find(({ name }) => !found.has(name))?.name;
  const dimensions = Number(found.get("embedding")?.type_params.find(({ key }) => key === "dim")?.value);
  if (missing === undefined && dimensions === definition.dimensions) return;
  throw new AppError(
    "invalid_configuration",
    `The search index "${definition.name}" does not fit this service: ${missing === undefined ? `it has ${dimensions} dimensions, not ${definition.dimensions}` : `"${missing}" is missing`}. Run \`npm run reindex\`.`,
  );
}

async function indexedFields(client: MilvusClient, name: string, timeout: number): Promise<string[]> {
  try {
    const { index_descriptions } = await checkMilvusResponse(client.describeIndex({ collection_name: name, timeout }));
    return index_descriptions.map(({ field_name }) => field_name);
  } catch (error) {
    if (error instanceof MilvusRefusal && error.code === INDEX_NOT_FOUND) return [];
    throw error;
  }
}

export async function exists(client: MilvusClient, name: string, timeout?: number): Promise<boolean> {
  const { value } = await checkMilvusResponse(
    client.hasCollection({ collection_name: name, ...(timeout === undefined ? {} : { timeout }) }),
  );
  return value === true;
}

/** Throws AppError `invalid_configuration` for an index from before parts. */
export async function refuseUndivided(client: MilvusClient, name: string, timeout: number): Promise<void> {
  if (!(await exists(client, name, timeout))) return;
  throw new AppError(
    "invalid_configuration",
    `The search index "${name}" does not fit this service: it is one collection, not several. Run \`npm run reindex\`.`,
  );
}

async function create(client: MilvusClient, definition: IndexDefinition, timeout: number): Promise<void> {
  try {
    await checkMilvusResponse(client.createCollection({ ...collectionSchema(definition), timeout }));
  } catch (error) {
    if (!(error instanceof MilvusRefusal)) throw error;
    for (let look = 0; !(await exists(client, definition.name, timeout)); look++) {
      if (look === LOOKS) throw error;
      await sleep(POLL_MS);
    }
  }
}

async function createIndexes(client: MilvusClient, name: string, timeout: number): Promise<void> {
  const indexed = await indexedFields(client, name, timeout);
  for (const index of VECTOR_INDEXES.filter(({ field_name }) => !indexed.includes(field_name))) {
    try {
      await checkMilvusResponse(client.createIndex({ collection_name: name, ...index, timeout }));
    } catch (error) {
      // Another process may have been faster.
      if (!(error instanceof MilvusRefusal) || !(await indexedFields(client, name, timeout)).includes(index.field_name)) throw error;
    }
  }
}

export async function collectionNames(client: MilvusClient): Promise<string[]> {
  return (await checkMilvusResponse(client.showCollections())).data.map(({ name }) => name);
}

/**
 * Creates missing indexes of a collection and loads it; each step may follow a crash. Creates the collection only with `creates`. Returns
 * whether it exists.
 */
export async function prepareCollection(
  client: MilvusClient,
  definition: IndexDefinition,
  { answerMs, workMs: timeout, creates }: { answerMs: number; workMs: number; creates: boolean },
): Promise<boolean> {
  const collection_name = definition.name;
  if (!(await exists(client, collection_name, answerMs))) {
    if (!creates) return false;
    await create(client, definition, timeout);
  }
  await checkFields(client, definition, timeout);
  await createIndexes(client, collection_name, timeout);
  await checkMilvusResponse(client.loadCollectionAsync({ collection_name, timeout }));
  const deadline = Date.now() + timeout;
  for (;;) {
    const { progress } = await checkMilvusResponse(client.getLoadingProgress({ collection_name, timeout }));
    if (Number(progress) >= 100) return true;
    if (Date.now() > deadline) throw new AppError("index_unavailable", `The search index "${collection_name}" is still being loaded.`);
    await sleep(POLL_MS);
  }
}
