import type { Script } from "../../../text/script-of.ts";
import type { IndexDefinition, SearchHit } from "../contract/search-index.ts";

/** Attributes in the order of the definition. */
export type HitValues = [
  id: string,
  groupId: string,
  previousId: string | null,
  createdAt: number,
  score: number | string,
  script: Script,
  ...(string | number)[],
];

export function hitColumns({ attributes }: IndexDefinition): string {
  return ["id", "group_id", "previous_id", "created_at", "script", ...Object.keys(attributes)].map((column) => `"${column}"`).join(", ");
}

/** One JSON value, which the embedded database sends faster than rows. */
export function hitsAsJson({ attributes }: IndexDefinition, { score, order = "" }: { score: string; order?: string }): string {
  const own = Object.keys(attributes).map((name) => `, "${name}"`);
  return `json_agg(json_build_array(id, group_id, previous_id, (extract(epoch from created_at) * 1000)::bigint, ${score}, script${own.join("")}) ${order})`;
}

export function hitOf(values: HitValues, ownerKey: string, { attributes }: IndexDefinition): SearchHit {
  const [id, groupId, previousId, createdAt, score, script, ...own] = values;
  const named = Object.keys(attributes).map((name, position) => [name, own[position] ?? ""]);
  return {
    id,
    ownerKey,
    groupId,
    previousId,
    createdAt: new Date(createdAt),
    score: Number(score),
    script,
    attributes: Object.fromEntries(named) as SearchHit["attributes"],
  };
}

/** Binary numbers: the embedded database parses them faster. */

const REAL_OID = 700;

/** Dimensions, 0, and the numbers. https://github.com/pgvector/pgvector/blob/v0.8.1/src/vector.c, vector_recv */
export function vectorValue(embedding: readonly number[]): Buffer {
  const value = Buffer.allocUnsafe(4 + 4 * embedding.length);
  value.writeInt16BE(embedding.length, 0);
  value.writeInt16BE(0, 2);
  embedding.forEach((number, position) => value.writeFloatBE(number, 4 + 4 * position));
  return value;
}

/**
 * One dimension, no nulls, type, length, lower bound 1; each number after its length.
 * https://github.com/postgres/postgres/blob/REL_18_STABLE/src/backend/utils/adt/arrayfuncs.c, array_recv
 */
export function realsValue(numbers: readonly number[]): Buffer {
  const head = [1, 0, REAL_OID, numbers.length, 1];
  const value = Buffer.allocUnsafe(4 * head.length + 8 * numbers.length);
  head.forEach((number, position) => value.writeInt32BE(number, 4 * position));
  numbers.forEach((number, position) => {
    value.writeInt32BE(4, 4 * head.length + 8 * position);
    value.writeFloatBE(number, 4 * head.length + 8 * position + 4);
  });
  return value;
}
