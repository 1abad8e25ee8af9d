import type { Database } from "../../../stores/postgres/database/database.ts";

const TABLES = `
select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1`;

export const listTables = async (database: Database): Promise<string[]> =>
  (await database.query<{ name: string }>({ text: TABLES })).map(({ name }) => name);

/** Every table with a row whose text holds `word`, and how many such rows. Of a partitioned table its partitions count, too. */
export async function tablesHolding(database: Database, word: string): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const name of await listTables(database)) {
    const text = `select count(*)::int as count from ${name} kept where strpos(kept::text, $1) > 0`;
    const [row] = await database.query<{ count: number }>({ text, values: [word] });
    if (row && row.count > 0) found[name] = row.count;
  }
  return found;
}
