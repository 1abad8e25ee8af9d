import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { startMilvusServer } from "../../servers/milvus-server.ts";
import { openTestPostgres } from "./databases.ts";
import { useOpened } from "../use-opened.ts";

/**
 * A new database of the real Postgres and a Milvus Lite, with what a service needs to find them. Only when `whyNoMilvus` gave no reason.
 */
export async function openPostgresAndMilvus() {
  const [database, milvus] = await Promise.all([openTestPostgres(), startMilvusServer()]);
  const store = await openMilvusSearchStore(database, { address: milvus.address }, { timeoutMs: 60_000 });
  return {
    database,
    milvus,
    store,
    environment: { DATABASE_URL: database.url, MILVUS_ADDRESS: milvus.address },
    async close(): Promise<void> {
      await store.close();
      await database.close();
      await milvus.remove();
    },
  };
}

export const usePostgresAndMilvus = () => useOpened(openPostgresAndMilvus);
