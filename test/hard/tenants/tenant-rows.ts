import { createHash } from "node:crypto";
import type { Database } from "../../../stores/postgres/database/database.ts";

type RowOwner = { tenant: string; user: string | null };

const OWN: RowOwner = { tenant: "kept.tenant_id", user: "kept.user_id" };
const OF_TENANT: RowOwner = { tenant: "kept.tenant_id", user: null };
const ofConversation = (column: string): string => `(select ${column} from conversations where id = kept.conversation_id)`;
const OF_CONVERSATION: RowOwner = { tenant: ofConversation("tenant_id"), user: ofConversation("user_id") };

/** Whose a row is, in SQL over `kept`: its tenant and its user; null where the row is the whole tenant's. */
const OWNER_OF: Record<string, RowOwner> = {
  conversations: OWN,
  core_memory_sections: OWN,
  core_memory_versions: OWN,
  core_memory_lines: OWN,
  memory_operations: OWN,
  turns: OWN,
  messages: OF_CONVERSATION,
  conversation_summaries: OF_CONVERSATION,
  conversation_summary_versions: OF_CONVERSATION,
  archived_memories: OF_CONVERSATION,
  episode_cursors: OF_CONVERSATION,
  memory_cursors: OF_CONVERSATION,
  turns_to_read_again: OF_CONVERSATION,
  message_ratings: OF_CONVERSATION,
  message_pictures: OF_CONVERSATION,
  pictures: OWN,
  branches: OF_CONVERSATION,
  forks: OF_CONVERSATION,
  snapshots: OF_CONVERSATION,
  turn_steps: OF_CONVERSATION,
  questions: OF_CONVERSATION,
  permissions: OWN,
  decisions: OWN,
  conversation_agents: OF_CONVERSATION,
  agent_runs: { tenant: "kept.tenant_id", user: ofConversation("user_id") },
  mcp_servers: OF_TENANT,
  mcp_grants: OWN,
  agents: OF_TENANT,
  agent_versions: OF_TENANT,
  tenant_rules: OF_TENANT,
  skills: OF_TENANT,
  knowledge_bases: OF_TENANT,
  knowledge_documents: OF_TENANT,
  knowledge_chunks: { tenant: "(select tenant_id from knowledge_documents where id = kept.document_id)", user: null },
  token_usage: OF_TENANT,
  model_usage: OWN,
};

const OF_NOBODY = ["schema_migrations", "search_indexes", "erase_markers", "erasures", "model_measures", "model_dialects"];

const TABLES = "select tablename as name from pg_tables where schemaname = 'public' order by 1";

export type OwnedRow = { table: string; tenantId: string; userId: string | null; text: string };

/** Every row of the service's own tables with its owner. Throws for a table that OWNER_OF does not know. */
export async function readOwnedRows(database: Database): Promise<OwnedRow[]> {
  const rows: OwnedRow[] = [];
  for (const { name } of await database.query<{ name: string }>({ text: TABLES })) {
    if (OF_NOBODY.includes(name)) continue;
    const owner = OWNER_OF[name];
    if (!owner) throw new Error(`whose are the rows of ${name}? Say so in tenant-rows.ts`);
    const text = `select ${owner.tenant} as "tenantId", ${owner.user ?? "null"} as "userId", kept::text as text from ${name} kept`;
    rows.push(...(await database.query<Omit<OwnedRow, "table">>({ text })).map((row) => ({ ...row, table: name })));
  }
  return rows;
}

const ownerText = ({ tenantId, userId }: Pick<OwnedRow, "tenantId" | "userId">): string => JSON.stringify([tenantId, userId]);

export function fingerprints(rows: readonly OwnedRow[]): Map<string, string> {
  const byOwner = Map.groupBy(rows, (row) => `${ownerText(row)} ${row.table}`);
  return new Map(
    [...byOwner].map(([owner, own]) => {
      const hash = createHash("sha256").update(JSON.stringify(own.map(({ text }) => text).toSorted()));
      return [owner, `${own.length} rows ${hash.digest("hex")}`];
    }),
  );
}
