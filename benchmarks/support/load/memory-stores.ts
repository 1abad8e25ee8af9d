import pg from "pg";
import { withDatabase } from "../../../test/support/database-url.ts";
import { startMilvusServer, whyNoMilvus } from "../../../test/support/milvus-server.ts";
import { startPostgresServer } from "../../../test/support/postgres-server.ts";

/** A real Postgres, and services' own stores in it. */
export interface MemoryStores {
  /** Of the database that the server has by itself. */
  databaseUrl: string;
  /** What the index of `open` is, for the notes; "none" where Milvus Lite cannot be had. */
  index: "Milvus Lite" | "none";
  /** The settings of processes that share a new database, and a new index. Throws when there is none. */
  open(): Promise<Record<string, string>>;
}

/** Starts a real Postgres, with a Milvus Lite for each `open` where it can be had; all end with `opened`. */
export async function startMemoryStores(opened: AsyncDisposableStack): Promise<MemoryStores> {
  const postgres = await startPostgresServer();
  opened.defer(() => postgres.stop());
  const missing = await whyNoMilvus();
  let count = 0;
  return {
    databaseUrl: postgres.url,
    index: missing === undefined ? "Milvus Lite" : "none",
    async open() {
      if (missing !== undefined) throw new Error(`This bench needs Milvus Lite: ${missing}`);
      const name = `bench_${++count}`;
      const client = new pg.Client({ connectionString: postgres.url });
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const milvus = await startMilvusServer();
      opened.defer(() => milvus.remove());
      return { DATABASE_URL: withDatabase(postgres.url, name), MILVUS_ADDRESS: milvus.address };
    },
  };
}
