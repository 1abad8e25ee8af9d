import { createRequire } from "node:module";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";

export type StoredRows = Record<string, number>;

const TABLES = `
select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') order by 1`;

const escaped = (word: string): string => word.replaceAll(/[^\w]/g, String.raw`\$&`);

function patternOf(words: string[]): string {
  return words.flatMap((word) => [escaped(word), Buffer.from(word).toString("hex")]).join("|");
}

export async function rowsOfDatabase(database: Database, words: string[]): Promise<StoredRows> {
  const found: StoredRows = {};
  for (const { name } of await database.query<{ name: string }>({ text: TABLES })) {
    const text = `select count(*)::int as count from ${name} kept where kept::text ~ $1`;
    const [row] = await database.query<{ count: number }>({ text, values: [patternOf(words)] });
    if (row && row.count > 0) found[name] = row.count;
  }
  return found;
}

export async function rowsOfPostgres(url: string, words: string[]): Promise<StoredRows> {
  const database = await openPostgres(url);
  return rowsOfDatabase(database, words).finally(() => database.close());
}

interface SqliteClient {
  execute(statement: string): Promise<{ rows: Record<string, unknown>[] }>;
  close(): void;
}

export async function rowsOfLibsql(file: string, words: string[]): Promise<StoredRows> {
  const requireOfPeers = createRequire(new URL("../../peers/package.json", import.meta.url));
  const { createClient } = requireOfPeers("@libsql/client") as { createClient: (options: { url: string }) => SqliteClient };
  const client = createClient({ url: `file:${file}` });
  const found: StoredRows = {};
  const tables = await client.execute("select name from sqlite_master where type = 'table' and name not like '%shadow%'");
  for (const { name } of tables.rows) {
    const { rows } = await client.execute(`select * from "${String(name)}"`);
    const count = rows.filter((row) => words.some((word) => JSON.stringify(Object.values(row)).includes(word))).length;
    if (count > 0) found[`libsql.${String(name)}`] = count;
  }
  client.close();
  return found;
}
