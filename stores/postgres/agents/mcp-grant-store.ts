import type { Owner } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";

/** The sign-ins of users at MCP servers, sealed. */
export interface McpGrantStore {
  find(owner: Owner, server: string): Promise<string | null>;
  save(owner: Owner, server: string, sealed: string): Promise<void>;
}

const SAVE = `
insert into mcp_grants (tenant_id, user_id, server, sealed, updated_at) values ($1, $2, $3, $4, clock_timestamp())
on conflict (tenant_id, user_id, server) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`;

export function makeMcpGrantStore(database: Database): McpGrantStore {
  return {
    async find({ tenantId, userId }, server) {
      const text = "select sealed from mcp_grants where tenant_id = $1 and user_id = $2 and server = $3";
      const [row] = await database.query<{ sealed: string }>({ name: "mcp-grant-find", text, values: [tenantId, userId, server] });
      return row?.sealed ?? null;
    },
    async save({ tenantId, userId }, server, sealed) {
      await database.query({ name: "mcp-grant-save", text: SAVE, values: [tenantId, userId, server, sealed] });
    },
  };
}
