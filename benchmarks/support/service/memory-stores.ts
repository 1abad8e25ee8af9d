import pg from "pg";
import { withDatabase } from "../../../test/servers/database-url.ts";
import { startMilvusServer, whyNoMilvus } from "../../../test/servers/milvus-server.ts";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";

export type MemoryStores = Awaited<ReturnType<typeof startMemoryStores>>;

async function runOn(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** Starts a real Postgres, with a Milvus Lite for each `open` where it can be had; all end with `opened`. */
export async function startMemoryStores(opened: AsyncDisposableStack) {
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const missing = await whyNoMilvus();
  let count = 0;
  return {
    databaseUrl: postgres.url,
    index: missing === undefined ? "Milvus Lite" : "none",
    /** Makes a database and an index, and returns the settings of processes that share them. Throws without Milvus Lite. */
    async open(): Promise<Record<string, string>> {
      if (missing !== undefined) throw new Error(`This bench needs Milvus Lite: ${missing}`);
      const name = `bench_${++count}`;
      await runOn(postgres.url, `create database ${name}`);
      const milvus = await startMilvusServer();
      opened.defer(() => milvus.remove());
      return { DATABASE_URL: withDatabase(postgres.url, name), MILVUS_ADDRESS: milvus.address };
    },
    /** The same with both in one database of BENCH_EXTENDED_POSTGRES_URL; null when that is not set. */
    async openExtended(): Promise<Record<string, string> | null> {
      const server = process.env["BENCH_EXTENDED_POSTGRES_URL"];
      if (!server) return null;
      const name = `conversation_graph_bench_${process.pid}_${++count}`;
      await runOn(server, `create database ${name}`);
      opened.defer(() => runOn(server, `drop database ${name} with (force)`));
      return { DATABASE_URL: withDatabase(server, name) };
    },
  };
}
