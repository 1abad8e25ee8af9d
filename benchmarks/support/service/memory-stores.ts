import pg from "pg";
import { withDatabase } from "../../../test/servers/database-url.ts";
import { startMilvusServer, whyNoMilvus } from "../../../test/servers/milvus-server.ts";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { startVectorPostgres, whyNoVectorPostgres } from "../../../test/servers/vector-postgres.ts";

export type MemoryStores = Awaited<ReturnType<typeof startMemoryStores>>;

async function createDatabase(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`).finally(() => client.end());
  return withDatabase(server, name);
}

/** Starts a real Postgres, with pgvector where it can be had. It ends with `opened`. */
export async function startMemoryStores(opened: AsyncDisposableStack) {
  const hasVectors = (await whyNoVectorPostgres()) === undefined;
  const postgres = await (hasVectors ? startVectorPostgres() : startPostgresServer());
  opened.defer(() => postgres.stop());
  let count = 0;
  const open = async () => ({ DATABASE_URL: await createDatabase(postgres.url, `bench_${++count}`) });
  return {
    databaseUrl: postgres.url,
    vectors: hasVectors ? "pgvector" : "a plain column",
    /** Makes a database, and returns the settings of processes that share it. */
    open,
    /** The same with a Milvus Lite of its own as the index; null where it cannot be had. */
    async openWithMilvus(): Promise<Record<string, string> | null> {
      if ((await whyNoMilvus()) !== undefined) return null;
      const milvus = await startMilvusServer();
      opened.defer(() => milvus.remove());
      return { ...(await open()), MILVUS_ADDRESS: milvus.address };
    },
  };
}
