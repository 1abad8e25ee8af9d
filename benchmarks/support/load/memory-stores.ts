import pg from "pg";
import { startMilvusServer, whyNoMilvus } from "../../../test/support/milvus-server.ts";
import { startPostgresServer } from "../../../test/support/postgres-server.ts";

/** A real Postgres, and services' own stores in it. */
export interface MemoryStores {
  /** Of the database that the server has by itself. */
  databaseUrl: string;
  /** What the index of `open` is, for the notes; with "none" episodes and documents are switched off. */
  index: "Milvus Lite" | "none";
  /** The settings of processes that share a new database, and a new index. */
  open(): Promise<Record<string, string>>;
}

/** Starts a real Postgres, with a Milvus Lite for each `open` where it can be had; all end with `opened`. */
export async function startMemoryStores(opened: AsyncDisposableStack): Promise<MemoryStores> {
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const hasMilvus = (await whyNoMilvus()) === undefined;
  let count = 0;
  return {
    databaseUrl: postgres.url,
    index: hasMilvus ? "Milvus Lite" : "none",
    async open() {
      const name = `bench_${++count}`;
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const url = new URL(postgres.url);
      url.pathname = name;
      if (!hasMilvus) return { DATABASE_URL: url.href, ENABLE_EPISODIC_MEMORY: "false" };
      const milvus = await startMilvusServer();
      opened.defer(() => milvus.remove());
      return { DATABASE_URL: url.href, MILVUS_ADDRESS: milvus.address };
    },
  };
}
