import type { Database } from "../../../stores/postgres/database/database.ts";

const TABLES = `
select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1`;

const listTables = async (database: Database): Promise<string[]> =>
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

/** What a regular expression finds in any row of any table, each once. */
export async function wordsKept(database: Database, pattern: string): Promise<string[]> {
  const found = new Set<string>();
  for (const name of await listTables(database)) {
    const text = `select distinct part[1] as word from ${name} kept, regexp_matches(kept::text, $1, 'g') as part`;
    for (const { word } of await database.query<{ word: string }>({ text, values: [pattern] })) found.add(word);
  }
  return [...found];
}
