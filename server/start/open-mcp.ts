import { loadMcpConfig } from "../../agents/mcp/load-mcp-config.ts";
import { HttpSpec } from "../../agents/mcp/mcp-server.ts";
import { makeMcpServers, type McpServers } from "../../agents/mcp/mcp-servers.ts";
import type { McpTimes } from "../../agents/mcp/mcp-connection.ts";
import { makePublicFetch, type PublicFetchParts } from "../../agents/web/public-fetch.ts";
import { AppError } from "../../errors/app-error.ts";
import { makeMcpServerStore } from "../../stores/postgres/agents/mcp-server-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeSeal } from "../../stores/seal.ts";
import type { Config } from "./config.ts";

export interface McpOptions {
  /** How servers of tenants are reached. */
  reach?: PublicFetchParts;
  times?: McpTimes;
}

/** The MCP servers that agents may use, and what keeps those of tenants. */
export interface Mcp {
  servers: McpServers;
  /** Of the system, which a tenant's server cannot be called. */
  systemNames: readonly string[];
  /** Null where it cannot be read with this SECRETS_KEY. */
  listOf(tenantId: string): Promise<{ name: string; spec: HttpSpec | null }[]>;
  /** Throws AppError `forbidden` without SECRETS_KEY. */
  put(tenantId: string, name: string, spec: HttpSpec): Promise<{ isNew: boolean }>;
  remove(tenantId: string, name: string): Promise<boolean>;
  close(): Promise<void>;
}

/** Throws AppError `invalid_configuration` when MCP_CONFIG is wrong. */
export async function openMcp(config: Config, database: Database, { reach, times }: McpOptions = {}): Promise<Mcp> {
  const system = config.MCP_CONFIG === undefined ? [] : await loadMcpConfig(config.MCP_CONFIG, process.env);
  const store = makeMcpServerStore(database);
  const seal = config.SECRETS_KEY === undefined ? null : makeSeal(config.SECRETS_KEY);
  const placeOf = (tenantId: string, name: string): string => JSON.stringify(["mcp server", tenantId, name]);

  async function ofTenant(tenantId: string) {
    return (await store.list(tenantId)).map(({ name, sealed, version }) => {
      const opened = seal?.open(sealed, placeOf(tenantId, name)) ?? null;
      return { name, version, spec: opened === null ? null : HttpSpec.parse(JSON.parse(opened)) };
    });
  }

  let publicFetch: ReturnType<typeof makePublicFetch> | undefined;
  const servers = makeMcpServers({
    system,
    ofTenant,
    trustHints: config.TRUST_MCP_HINTS,
    publicFetch: () => (publicFetch ??= makePublicFetch(reach)),
    ...(times ? { times } : {}),
  });
  return {
    servers,
    systemNames: system.map(({ name }) => name),
    listOf: ofTenant,
    async put(tenantId, name, spec) {
      if (!seal) throw new AppError("forbidden", "This service keeps no MCP servers of tenants: its operator has set no SECRETS_KEY.");
      return store.put(tenantId, name, seal.seal(JSON.stringify(spec), placeOf(tenantId, name)));
    },
    remove: (tenantId, name) => store.remove(tenantId, name),
    close: () => servers.close(),
  };
}
