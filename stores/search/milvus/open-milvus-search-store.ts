import type { MilvusAddress, MilvusOptions } from "./connect-milvus.ts";
import type { Database } from "../../postgres/database/database.ts";
import { createSearchSchema } from "../postgres/index-table.ts";
import type { SearchStore } from "../contract/search-index.ts";

/**
 * Indexes with words in Postgres and vectors in Milvus or Milvus Lite. Succeeds without that server: openIndex throws AppError
 * `index_unavailable`, and an opened index reconnects by itself. Closing the store leaves the database open.
 */
export async function openMilvusSearchStore(database: Database, where: MilvusAddress, options: MilvusOptions): Promise<SearchStore> {
  await createSearchSchema(database);
  // Loading the SDK takes longer than the rest of the service.
  const { connectMilvus } = await import("./connect-milvus.ts");
  return connectMilvus(database, where, options);
}
