import type { Owner } from "../../turn/owner.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { ERASED_TENANT } from "../../stores/postgres/conversations/erase-markers.ts";
import { makeIndexOpener } from "../../stores/search/open-episode-index.ts";
import { ownerKey } from "../../stores/index-keys.ts";
import type { SearchStore } from "../../stores/search/contract/search-index.ts";

export interface ResidualData {
  /** A table, or a collection of the index. */
  place: string;
  count: number;
}

interface Table {
  name: string;
  columns: string[];
}

const TABLES = `
select format('%I.%I', table_schema, table_name) as name, array_agg(column_name::text) as columns
from information_schema.tables join information_schema.columns using (table_catalog, table_schema, table_name)
where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
group by 1 order by 1`;

/** Markers of erases; they stay for a while. */
const HASHES_ONLY = ["public.erase_markers", "public.erasures"];
/** Tables of tenants or of the service itself. */
const OF_NO_USER = [
  "schema_migrations",
  "search_indexes",
  "knowledge_bases",
  "knowledge_documents",
  "knowledge_chunks",
  "token_usage",
  "agents",
  "agent_versions",
  "tenant_rules",
  "mcp_servers",
  "skills",
];
const INDEXES = "select name, dimensions from search_indexes where store = 'milvus'";

/** The user's conversations, and those set aside by large erases. */
const CONVERSATIONS = `
select id from conversations where tenant_id = $1 and user_id = $2
  or tenant_id = '${ERASED_TENANT}' and user_id in (select id::text from erasures where owner_key = $3)`;

/** $1 tenant, $2 user, $3 owner key. Where no column names the owner, any value equal to the id counts. */
function conditionFor({ name, columns }: Table): string {
  if (name.startsWith("pgboss.")) return columns.includes("data") ? "data->>'tenantId' = $1 and data->>'userId' = $2" : "false";
  if (name === "public.conversations") return `id in (${CONVERSATIONS})`;
  if (columns.includes("tenant_id") && columns.includes("user_id")) return "tenant_id = $1 and user_id = $2";
  if (columns.includes("owner_key")) return "owner_key = $3";
  if (columns.includes("conversation_id")) return `conversation_id in (${CONVERSATIONS})`;
  return "strpos(to_jsonb(kept)::text, to_jsonb($2::text)::text) > 0";
}

/** All data of a user by table and index; empty after an erase. Reads whole tables: for operators, not requests. */
export async function findResidualData(database: Database, store: SearchStore | null, owner: Owner): Promise<ResidualData[]> {
  const { tenantId, userId } = owner;
  const key = ownerKey(tenantId, userId);
  const found: ResidualData[] = [];
  for (const table of await database.query<Table>({ text: TABLES })) {
    if (HASHES_ONLY.includes(table.name) || OF_NO_USER.includes(table.name.replace(/^public\./, ""))) continue;
    const text = `select count(*)::int as count from ${table.name} as kept where ${conditionFor(table)} and ($1::text, $2::text, $3::text) is not null`;
    const [row] = await database.query<{ count: number }>({ text, values: [tenantId, userId, key] });
    if (row && row.count > 0) found.push({ place: table.name, count: row.count });
  }
  if (store?.kind !== "milvus") return found;
  for (const { name, dimensions } of await database.query<{ name: string; dimensions: number }>({ text: INDEXES })) {
    const count = await (await makeIndexOpener(store, dimensions)(name)).count(key);
    if (count > 0) found.push({ place: `${store.description}: ${name}`, count });
  }
  return found;
}
