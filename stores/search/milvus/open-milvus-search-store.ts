import type { MilvusAddress, MilvusOptions } from "./connect-milvus.ts";
import type { Database } from "../../postgres/database/database.ts";
import { createSearchSchema } from "../postgres/index-table.ts";
import type { SearchStore } from "../contract/search-index.ts";

/**
 * Indexes whose words are in Postgres and whose vectors are in a Milvus server, or in Milvus Lite. Succeeds without that server: openIndex
 * throws AppError `index_unavailable`, and an opened index reconnects by itself. Closing the store leaves the database open.
 */
export async function openMilvusSearchStore(database: Database, where: MilvusAddress, options: MilvusOptions): Promise<SearchStore> {
  await createSearchSchema(database);
  // Loading the SDK takes longer than the rest of the service.
  const { connectMilvus } = await import("./connect-milvus.ts");
  return connectMilvus(database, where, options);
}
