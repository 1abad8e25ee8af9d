import { DataType, FunctionType, type CreateCollectionWithFieldsReq, type FieldType } from "@zilliz/milvus2-sdk-node";
import type { IndexDefinition } from "../search-index.ts";

/** The most that Milvus allows, in bytes. */
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
      // Splits at what is neither letter nor digit, which in lexical text is the space, and does nothing else. Milvus Lite has no "whitespace".
      analyzer_params: { tokenizer: "standard" },
    },
    { name: "lexical_vector", data_type: DataType.SparseFloatVector },
    { name: "embedding", data_type: DataType.FloatVector, dim: dimensions },
    ...Object.entries(attributes).map(([name, type]) => ({ name, ...ATTRIBUTE_FIELDS[type] })),
  ];
}

/** One shard: each shard counts words for itself, and BM25 needs the counts of all documents. */
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

export const VECTOR_INDEXES = [
  { field_name: "embedding", index_type: "AUTOINDEX", metric_type: "COSINE", params: {} },
  { field_name: "lexical_vector", index_type: "SPARSE_INVERTED_INDEX", metric_type: "BM25", params: { bm25_k1: 1.2, bm25_b: 0.75 } },
];
