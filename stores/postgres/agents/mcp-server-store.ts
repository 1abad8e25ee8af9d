import type { Database } from "../database/database.ts";
import { makeTenantLists } from "../database/tenant-lists.ts";
import type { Owner } from "../../../turn/owner.ts";

/** An MCP server of a tenant; its address and headers are sealed. */
export interface StoredMcpServer {
  name: string;
  sealed: string;
  version: number;
}

export interface McpServerStore {
  list(tenantId: string): Promise<StoredMcpServer[]>;
  /** Without `keepsGrants` the users' sign-ins at the server are deleted: it is another one. */
  put(tenantId: string, name: string, sealed: string, about: { keepsGrants: boolean }): Promise<{ isNew: boolean }>;
  /** Deletes also the users' sign-ins there. False when there is none. */
  remove(tenantId: string, name: string): Promise<boolean>;
}

/** A version is never given twice, also not after a removal: a connection is known by it. */
const PUT = `
with forgotten as (delete from mcp_grants where tenant_id = $1 and server = $2 and not $4::boolean)
insert into mcp_servers as present (tenant_id, name, sealed, version, created_at, updated_at)
values ($1, $2, $3, (extract(epoch from clock_timestamp()) * 1000)::bigint, clock_timestamp(), clock_timestamp())
on conflict (tenant_id, name) do update
set sealed = excluded.sealed, version = greatest(present.version + 1, excluded.version), updated_at = excluded.updated_at
returning xmax = 0 as "isNew"`;

const REMOVE = `
with forgotten as (delete from mcp_grants where tenant_id = $1 and server = $2)
delete from mcp_servers where tenant_id = $1 and name = $2 returning 1`;

export function makeMcpServerStore(database: Database): McpServerStore {
  return {
    list: makeTenantLists<StoredMcpServer, StoredMcpServer>(database, {
      name: "mcp-servers-list",
      rows: (tenant) => `select name, sealed, version from mcp_servers where tenant_id = ${tenant} order by name`,
      toItem: (row) => row,
    }),

    async put(tenantId, name, sealed, { keepsGrants }) {
      const [row] = await database.query<{ isNew: boolean }>({
        name: "mcp-server-put",
        text: PUT,
        values: [tenantId, name, sealed, keepsGrants],
      });
      return { isNew: row?.isNew === true };
    },

    async remove(tenantId, name) {
      return (await database.query({ name: "mcp-server-remove", text: REMOVE, values: [tenantId, name] })).length === 1;
    },
  };
}

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
