import type { MilvusAddress, MilvusOptions } from "./connect-milvus.ts";
import type { SearchStore } from "../search-index.ts";

/**
 * Indexes in a Milvus server, or in Milvus Lite. Does not throw when the server is away: openIndex does, AppError `index_unavailable`, and an
 * index once opened comes back by itself.
 */
export async function openMilvusSearchStore(where: MilvusAddress, options: MilvusOptions): Promise<SearchStore> {
  // Only now: loading the SDK takes longer than the rest of the service together.
  const { connectMilvus } = await import("./connect-milvus.ts");
  return connectMilvus(where, options);
}
