import type { Owner } from "../../stores/owner.ts";
import type { AgentTool } from "../tool.ts";
import { makeMcpConnection, MCP_TIMES, type McpConnection, type McpState, type McpTimes, McpUnavailable } from "./mcp-connection.ts";
import { mayName, mayNameAny, type McpServer } from "./mcp-server.ts";
import { openTransport, type TransportParts } from "./open-transport.ts";
import { toAgentTool } from "./to-agent-tool.ts";

/** A server of a tenant; `spec` null: its secrets cannot be read with this SECRETS_KEY. */
export interface TenantMcpServer {
  name: string;
  spec: McpServer["spec"] | null;
  version: number;
}

export interface McpServersParts extends TransportParts {
  system: readonly McpServer[];
  ofTenant: (tenantId: string) => Promise<readonly TenantMcpServer[]>;
  trustHints: boolean;
  times?: McpTimes;
}

export interface McpServerState extends McpState {
  name: string;
  tier: McpServer["tier"];
}

/** The MCP servers of this process. */
export interface McpServers {
  /** Tools of the servers that the patterns can name. A server that is down is told of, and its tools are missing. */
  tools(owner: Owner, patterns: readonly string[], onMissing: (problem: string) => void): Promise<AgentTool[]>;
  /** Of the system and of the tenant, as far as this process knows. */
  states(tenantId: string): Promise<McpServerState[]>;
  close(): Promise<void>;
}

const UNREADABLE = "has secrets that this SECRETS_KEY cannot read: send them again";

interface Opened {
  version: number;
  connection: McpConnection;
}

/** One connection for each server, which all users of a tenant share, of the system's servers all tenants. */
export function makeMcpServers({ system, ofTenant, trustHints, times = MCP_TIMES, ...transport }: McpServersParts): McpServers {
  const opened = new Map<string, Opened>();
  const names = new Set(system.map(({ name }) => name));

  function connectionOf(server: McpServer, whose: string, version: number): McpConnection {
    const key = JSON.stringify([whose, server.name]);
    const present = opened.get(key);
    if (present?.version === version) return present.connection;
    void present?.connection.close(); // it was changed
    const connection = makeMcpConnection({
      server,
      open: () => openTransport(server, transport),
      toTool: (tool) => toAgentTool(tool, { server, connection: () => connection, trustHints }),
      times,
    });
    opened.set(key, { version, connection });
    return connection;
  }

  /** The system's servers go before those of a tenant with the same name. */
  async function serversOf(tenantId: string): Promise<{ name: string; tier: McpServer["tier"]; connection: McpConnection | null }[]> {
    const own = (await ofTenant(tenantId)).filter(({ name }) => !names.has(name));
    return [
      ...system.map((server) => ({ name: server.name, tier: server.tier, connection: connectionOf(server, "", 0) })),
      ...own.map(({ name, spec, version }) => ({
        name,
        tier: "tenant" as const,
        connection: spec && connectionOf({ name, tier: "tenant", spec }, tenantId, version),
      })),
    ];
  }

  return {
    async tools({ tenantId }, patterns, onMissing) {
      if (!patterns.some(mayNameAny)) return [];
      const servers = (await serversOf(tenantId)).filter(({ name }) => patterns.some((pattern) => mayName(pattern, name)));
      const lists = await Promise.all(
        servers.map(async ({ name, connection }) => {
          try {
            if (!connection) throw new McpUnavailable(name, UNREADABLE);
            return await connection.tools();
          } catch (error) {
            if (!(error instanceof McpUnavailable)) throw error;
            onMissing(`${error.message} Its tools are missing.`);
            return [];
          }
        }),
      );
      return lists.flat();
    },

    async states(tenantId) {
      const servers = await serversOf(tenantId);
      return servers.map(({ name, tier, connection }) => {
        return { name, tier, ...(connection?.state() ?? { state: "down" as const, tools: null, problem: UNREADABLE }) };
      });
    },

    async close() {
      await Promise.all([...opened.values()].map(({ connection }) => connection.close()));
    },
  };
}
