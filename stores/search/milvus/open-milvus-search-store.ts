import type { MilvusAddress, MilvusOptions } from "./connect-milvus.ts";
import type { SearchStore } from "../search-index.ts";

/**
 * Indexes in a Milvus server, or in Milvus Lite. Succeeds without the server: openIndex throws AppError `index_unavailable`, and an opened
 * index reconnects by itself.
 */
export async function openMilvusSearchStore(where: MilvusAddress, options: MilvusOptions): Promise<SearchStore> {
  // Loading the SDK takes longer than the rest of the service.
  const { connectMilvus } = await import("./connect-milvus.ts");
  return connectMilvus(where, options);
}
