import { checkMoment, checkOwnerKey, checkUuid } from "../check-key.ts";
import type { SearchFilter } from "../search-index.ts";

/**
 * An expression that selects documents. Milvus Lite has no parameters, so values stand in the text: only keys and ids that are checked, and
 * whole numbers. Throws TypeError for anything else.
 */
export function milvusFilter({ ownerKey, groupId, from, until, ids }: SearchFilter & { ids?: readonly string[] }): string {
  const conditions = [
    `owner_key == "${checkOwnerKey(ownerKey)}"`,
    groupId !== undefined && `group_id == "${checkUuid(groupId)}"`,
    from && `created_at >= ${checkMoment(from).getTime()}`,
    until && `created_at < ${checkMoment(until).getTime()}`,
    ids && `id in [${ids.map((id) => `"${checkUuid(id)}"`).join(", ")}]`,
  ];
  return conditions.filter(Boolean).join(" and ");
}
