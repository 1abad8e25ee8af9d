import type { IndexDefinition, SearchHit } from "../search-index.ts";

/** A hit as `hitOf` reads it: id, group, the one before, milliseconds, score, and the attributes in the order of the definition. */
export type HitValues = [
  id: string,
  groupId: string,
  previousId: string | null,
  createdAt: number,
  score: number | string,
  ...(string | number)[],
];

/** The columns that a hit is made of. */
export function hitColumns({ attributes }: IndexDefinition): string {
  return ["id", "group_id", "previous_id", "created_at", ...Object.keys(attributes)].map((column) => `"${column}"`).join(", ");
}

/**
 * One JSON for all hits: as rows of a result, which the protocol and the driver take apart field by field, eighty of them took the embedded
 * database 1.1 ms, so 0.5 ms.
 */
export function hitsAsJson({ attributes }: IndexDefinition, { score, order = "" }: { score: string; order?: string }): string {
  const own = Object.keys(attributes).map((name) => `, "${name}"`);
  return `json_agg(json_build_array(id, group_id, previous_id, (extract(epoch from created_at) * 1000)::bigint, ${score}${own.join("")}) ${order})`;
}

/** The hit that these are the values of. */
export function hitOf(values: HitValues, ownerKey: string, { attributes }: IndexDefinition): SearchHit {
  const [id, groupId, previousId, createdAt, score, ...own] = values;
  const named = Object.keys(attributes).map((name, position) => [name, own[position] ?? ""]);
  return {
    id,
    ownerKey,
    groupId,
    previousId,
    createdAt: new Date(createdAt),
    score: Number(score), // JSON knows no NaN: it would come as a text
    attributes: Object.fromEntries(named) as SearchHit["attributes"],
  };
}
