import { MEMORY_MODEL, SUMMARY_MODEL } from "../../../test/hard/chaos/chaos-model.ts";
import { openChaosProcesses, type ChaosProcesses } from "../../../test/hard/chaos/chaos-processes.ts";
import { startMilvusServer, whyNoMilvus } from "../../../test/servers/milvus-server.ts";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { killServiceProcesses } from "../../../test/servers/service-process.ts";
import { startTcpProxy, type TcpProxy } from "../../../test/servers/tcp-proxy.ts";
import { openPostgres } from "../../../stores/postgres/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { makeIndexOpener } from "../../../stores/search/open-episode-index.ts";
import type { SearchIndex, SearchStore } from "../../../stores/search/search-index.ts";
import { startProcess } from "../start-process.ts";

export const SOAK_DEPENDENCIES = ["postgres", "milvus", "chat_model", "embedder"] as const;
type SoakDependency = (typeof SOAK_DEPENDENCIES)[number];
export const LEASE_MS = 4_000;
const DIMENSIONS = 64;
const PATIENT_MS = 30_000;
const INDEX = "select name from search_indexes where kind = 'episodes' and state = 'current'";

/** Two processes of the service with all layers on, and everything they depend on behind a proxy of its own. */
export interface SoakStage {
  processes: ChaosProcesses;
  proxies: Readonly<Record<SoakDependency, TcpProxy>>;
  /** Past the proxies. */
  database: Database;
  store: SearchStore;
  episodes: SearchIndex;
  modelUrl: string;
  close(): Promise<void>;
}

/** Throws when there is no Milvus to be had. */
export async function openSoakStage(random: (below: number) => number): Promise<SoakStage> {
  const missing = await whyNoMilvus();
  if (missing) throw new Error(`The soak needs Milvus: ${missing}`);
  await using opening = new AsyncDisposableStack();
  const postgres = await startPostgresServer();
  opening.defer(() => postgres.stop());
  const milvus = await startMilvusServer();
  opening.defer(() => milvus.remove());
  const models = await startProcess("benchmarks/support/soak/model-process.ts", /^http\S+ http\S+$/m, {});
  opening.defer(() => models.stop());
  const [modelUrl = "", embedderUrl = ""] = models.line.split(" ");
  const through = async (url: string): Promise<TcpProxy> => {
    const proxy = await startTcpProxy(url);
    opening.defer(() => proxy.close());
    return proxy;
  };
  const proxies = {
    postgres: await through(postgres.url),
    milvus: await through(`http://${milvus.address}`),
    chat_model: await through(modelUrl),
    embedder: await through(embedderUrl),
  };
  opening.defer(() => killServiceProcesses());
  const processes = await openChaosProcesses(
    {
      ...{ DATABASE_URL: proxies.postgres.url, MILVUS_ADDRESS: proxies.milvus.url.replace(/\/$/, "") },
      ...{ OPENAI_BASE_URL: proxies.chat_model.url, EMBEDDING_BASE_URL: proxies.embedder.url },
      ...{ SUMMARY_MODEL, MEMORY_MODEL, EMBEDDING_MODEL: "test-embed", EMBEDDING_DIMENSIONS: String(DIMENSIONS) },
      ...{ ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true" },
      ...{
        TURN_LEASE_MS: String(LEASE_MS),
        SHUTDOWN_GRACE_MS: "1000",
        MODEL_FIRST_TOKEN_TIMEOUT_MS: "5000",
        MODEL_IDLE_TIMEOUT_MS: "3000",
      },
    },
    random,
  );
  const database = await openPostgres(postgres.url);
  opening.defer(() => database.close());
  const store = await openMilvusSearchStore({ address: milvus.address }, { timeoutMs: PATIENT_MS });
  opening.defer(() => store.close());
  const [index] = await database.query<{ name: string }>({ text: INDEX });
  if (!index) throw new Error("The service has started and there is no index of episodes.");
  const episodes = await makeIndexOpener(store, DIMENSIONS)(index.name);
  const opened = opening.move();
  return { processes, proxies, database, store, episodes, modelUrl, close: () => opened.disposeAsync() };
}
