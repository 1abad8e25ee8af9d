import { checkOwnerKey } from "../../index-keys.ts";
import type { SearchDocument, VectorIndex } from "../contract/search-index.ts";

/**
 * The collections of an index, each for a share of the owners: Milvus Lite scans a whole collection in every search (docs/decisions/0012).
 */
export const PARTS = 16;

const PART_NAME = /^(.+)_part\d+$/;

export function partNames(name: string): string[] {
  return Array.from({ length: PARTS }, (_, part) => `${name}_part${part}`);
}

export function indexOfPart(collection: string): string {
  return PART_NAME.exec(collection)?.[1] ?? collection;
}

export function partOf(ownerKey: string): number {
  return (Buffer.from(checkOwnerKey(ownerKey), "base64url")[0] ?? 0) % PARTS;
}

export function makePartedIndex(parts: readonly VectorIndex[]): VectorIndex {
  const written = new Set<VectorIndex>();
  const of = (ownerKey: string): VectorIndex => {
    const part = parts[partOf(ownerKey)];
    if (!part) throw new RangeError(`An index has ${PARTS} parts; this one has ${parts.length}.`);
    return part;
  };
  return {
    async upsert(documents) {
      const shares = new Map<VectorIndex, SearchDocument[]>();
      for (const document of documents) {
        const part = of(document.ownerKey);
        shares.set(part, [...(shares.get(part) ?? []), document]);
      }
      for (const part of shares.keys()) written.add(part);
      await Promise.all([...shares].map(([part, share]) => part.upsert(share)));
    },
    nearest: async (filter, embedding, limit) => of(filter.ownerKey).nearest(filter, embedding, limit),
    removeGroups: async (ownerKey, groupIds) => of(ownerKey).removeGroups(ownerKey, groupIds),
    remove: async (ownerKey, ids) => of(ownerKey).remove(ownerKey, ids),
    async count(ownerKey) {
      if (ownerKey !== undefined) return of(ownerKey).count(ownerKey);
      const counts = await Promise.all(parts.map((part) => part.count()));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** Only parts written since the last flush. */
    async flush() {
      const due = [...written];
      written.clear();
      await Promise.all(due.map((part) => part.flush()));
    },
  };
}
