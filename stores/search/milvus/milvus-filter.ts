import { checkMoment, checkOwnerKey, checkUuid } from "../check-key.ts";
import type { SearchFilter } from "../search-index.ts";

export interface MilvusSelection extends SearchFilter {
  groupIds?: readonly string[];
  ids?: readonly string[];
}

const listOf = (ids: readonly string[]): string => `[${ids.map((id) => `"${checkUuid(id)}"`).join(", ")}]`;

/** An expression that selects documents by their ids, whoever they belong to. Throws TypeError for what is no UUID. */
export const anyOf = (ids: readonly string[]): string => `id in ${listOf(ids)}`;

/**
 * An expression that selects documents. Milvus Lite has no parameters, so values stand in the text: only keys and ids that are checked, and
 * whole numbers. Throws TypeError for anything else.
 */
export function milvusFilter({ ownerKey, groupId, groupIds, from, until, ids }: MilvusSelection): string {
  const conditions = [
    `owner_key == "${checkOwnerKey(ownerKey)}"`,
    groupId !== undefined && `group_id == "${checkUuid(groupId)}"`,
    from && `created_at >= ${checkMoment(from).getTime()}`,
    until && `created_at < ${checkMoment(until).getTime()}`,
    groupIds && `group_id in ${listOf(groupIds)}`,
    ids && anyOf(ids),
  ];
  return conditions.filter(Boolean).join(" and ");
}
