import pg from "pg";

/** The floor of an import: rows of text put into a table with a key and nothing else, in one statement for each `batch` of them. */
export interface PlainInsert {
  /** Milliseconds for all of these texts. */
  insert(texts: readonly string[]): Promise<number>;
}

const BATCH = 500;

/** Makes the table in a database of its own connection, which ends with `opened`. */
export async function openPlainInsert(databaseUrl: string, opened: AsyncDisposableStack): Promise<PlainInsert> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  opened.defer(() => client.end());
  await client.query("create table plain (id bigint generated always as identity primary key, content text not null)");
  return {
    async insert(texts) {
      const began = performance.now();
      for (let start = 0; start < texts.length; start += BATCH)
        await client.query("insert into plain (content) select unnest($1::text[])", [texts.slice(start, start + BATCH)]);
      return performance.now() - began;
    },
  };
}
