import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { startMilvusServer } from "../../servers/milvus-server.ts";
import { openTestService } from "../../support/services/service.ts";
import { JWT_SECRET } from "../../servers/token-issuer.ts";
import { apiKeysOf, buildTenantWorld, TENANTS } from "./tenant-world.ts";

export const STRANGERS = ["acm-", "Acme", "acme-", "acme_cor", "default"];

async function readEntities(address: string): Promise<{ ownerKey: string; text: string }[]> {
  const { MilvusClient } = await import("@zilliz/milvus2-sdk-node"); // only once uuid is loaded: the two in one cycle do not load
  const client = new MilvusClient({ address, timeout: 60_000 });
  await client.connectPromise;
  const found: Awaited<ReturnType<typeof readEntities>> = [];
  for (const { name } of (await client.showCollections()).data) {
    const { data } = await client.query({
      collection_name: name,
      filter: 'id != ""',
      output_fields: ["owner_key", "lexical_text"],
      limit: 16_000,
    });
    found.push(...data.map((row) => ({ ownerKey: String(row["owner_key"]), text: String(row["lexical_text"]) })));
  }
  await client.closeConnection();
  return found;
}

export type TenantStage = Awaited<ReturnType<typeof openTenantStage>>;

export async function openTenantStage() {
  await using opening = new AsyncDisposableStack();
  const milvus = await startMilvusServer();
  opening.defer(() => milvus.remove());
  const real = await createRealDatabase();
  opening.defer(() => real.drop());
  const database = await openPostgres(real.url);
  opening.defer(() => database.close());
  const store = await openMilvusSearchStore({ address: milvus.address }, { timeoutMs: 60_000 });
  opening.defer(() => store.close());
  const service = await openTestService({
    DATABASE_URL: real.url,
    MILVUS_ADDRESS: milvus.address,
    API_KEYS: apiKeysOf([...TENANTS, ...STRANGERS]),
    JWT_SECRET,
    JWT_TENANT_CLAIM: "tenant",
    ENABLE_EPISODIC_MEMORY: "true",
    ENABLE_CORE_MEMORY: "true",
    HISTORY_WINDOW: "0",
    SUMMARY_MIN_MESSAGES: "2",
    SUMMARY_UPDATE_DELTA: "1",
    MEMORY_READ_TIMEOUT_MS: "30000",
  });
  opening.defer(() => service.close());
  const text = "select id from knowledge_chunks where document_id = $1 order by position limit 1";
  const passageOf = async (documentId: string): Promise<string> =>
    (await database.query<{ id: string }>({ text, values: [documentId] }))[0]?.id ?? "none";
  const world = await buildTenantWorld(service.url, passageOf);
  const opened = opening.move();
  return { service, database, store, world, entities: () => readEntities(milvus.address), close: () => opened.disposeAsync() };
}
