import type { Owner } from "../../turn/owner.ts";
import type { AgentTool } from "../tool.ts";
import { makeMcpConnection, MCP_TIMES, type McpConnection } from "./mcp-connection.ts";
import { McpUnavailable } from "./mcp-problems.ts";
import {
  hasOwnKey,
  MCP_SERVER_NAME,
  mayName,
  NAME_PROBLEM,
  mayNameAny,
  type McpServer,
  type McpServers,
  type McpTimes,
  secretsOf,
} from "./mcp-server.ts";
import { openTransport, type TransportParts } from "./open-transport.ts";
import { makeSignInTool, type SignIn } from "./sign-in.ts";
import { toAgentTool } from "./to-agent-tool.ts";

/** A server of a tenant; `spec` null: this SECRETS_KEY cannot read its secrets. */
export interface TenantMcpServer {
  name: string;
  spec: McpServer["spec"] | null;
  version: number;
}

export interface McpServersParts extends TransportParts {
  system: readonly McpServer[];
  ofTenant: (tenantId: string) => Promise<readonly TenantMcpServer[]>;
  trustHints: boolean;
  /** A user's sign-in at a server that wants OAuth. Null: nobody can sign in. */
  signIn: ((owner: Owner, server: McpServer) => Promise<SignIn>) | null;
  times?: McpTimes;
}

const TOO_SLOW = "has not told its tools in the time of the agent";
const UNREADABLE = "has secrets that this SECRETS_KEY cannot read: send them again";
const MISNAMED = `has a name that cannot be used: it ${NAME_PROBLEM}. Add the server under another one, and delete this one`;

interface Opened {
  version: number;
  connection: McpConnection;
  /** Where its user has to sign in. */
  address: () => string | null;
}

interface KnownServer {
  name: string;
  tier: McpServer["tier"];
  version: number;
  /** Null: see `unusable`. */
  server: McpServer | null;
  unusable: string;
  connection: McpConnection | null;
}

/** One connection for each server, shared by a tenant's users, or by all tenants for a system server. */
export function makeMcpServers({ system, ofTenant, trustHints, signIn, times = MCP_TIMES, ...transport }: McpServersParts): McpServers {
  const opened = new Map<string, Opened>();
  const names = new Set(system.map(({ name }) => name));

  function keep(key: string, version: number, make: () => Omit<Opened, "version">): Opened {
    const present = opened.get(key);
    if (present?.version === version) return present;
    void present?.connection.close(); // it was changed
    const made = { version, ...make() };
    opened.set(key, made);
    return made;
  }

  function connectionOf(server: McpServer, whose: string, version: number): McpConnection {
    const secrets = secretsOf(server);
    const { connection } = keep(JSON.stringify([whose, server.name]), version, () => {
      const made = makeMcpConnection({
        server,
        open: () => openTransport(server, transport),
        toTool: (tool) => toAgentTool(tool, { server, connection: () => made, secrets: () => secrets, trustHints }),
        times,
      });
      return { connection: made, address: () => null };
    });
    return connection;
  }

  /** One user's connection, who signs in: nobody else may act with that user's rights. */
  function personalOf(server: McpServer, owner: Owner, version: number, begin: NonNullable<typeof signIn>): Opened {
    return keep(JSON.stringify([owner.tenantId, server.name, owner.userId]), version, () => {
      let begun: SignIn | null = null;
      const secrets = () => [...secretsOf(server), ...(begun?.secrets() ?? [])];
      const made = makeMcpConnection({
        server,
        async open() {
          begun = await begin(owner, server);
          return openTransport(server, transport, begun.provider);
        },
        toTool: (tool) => toAgentTool(tool, { server, connection: () => made, secrets, trustHints }),
        times,
        isPersonal: true,
      });
      return { connection: made, address: () => begun?.address() ?? null };
    });
  }

  /** A system server beats a tenant's of the same name. */
  async function serversOf(tenantId: string): Promise<KnownServer[]> {
    const own = (await ofTenant(tenantId)).filter(({ name }) => !names.has(name));
    return [
      ...system.map((server) => ({ ...server, version: 0, server, unusable: "", connection: connectionOf(server, "", 0) })),
      ...own.map(({ name, spec, version }) => {
        const isNamed = MCP_SERVER_NAME.test(name);
        const server = isNamed && spec ? { name, tier: "tenant" as const, spec } : null;
        const unusable = isNamed ? UNREADABLE : MISNAMED;
        return { name, tier: "tenant" as const, version, server, unusable, connection: server && connectionOf(server, tenantId, version) };
      }),
    ];
  }

  /** The tools of one server for a user. Throws McpUnavailable. */
  async function toolsOf(
    { name, server, unusable, connection, version }: KnownServer,
    owner: Owner,
    signal: AbortSignal | undefined,
  ): Promise<readonly AgentTool[]> {
    if (!server || !connection) throw new McpUnavailable(name, unusable);
    try {
      return await connection.tools(signal);
    } catch (error) {
      if (!(error instanceof McpUnavailable) || !error.wantsSignIn || !signIn || hasOwnKey(server)) throw error;
    }
    return personalOf(server, owner, version, signIn).connection.tools(signal);
  }

  /** What an agent gets in place of missing tools. */
  function instead(
    error: McpUnavailable,
    { server, version }: KnownServer,
    owner: Owner,
    onMissing: (problem: string) => void,
  ): AgentTool[] {
    const address =
      server && signIn && error.wantsSignIn && !hasOwnKey(server) ? personalOf(server, owner, version, signIn).address() : null;
    onMissing(`${error.message} Its tools are missing.${address === null ? "" : ` Open this address to sign in: ${address}`}`);
    return server && address !== null ? [makeSignInTool(server.name, address)] : [];
  }

  return {
    async tools(owner, { patterns, onMissing, signal }) {
      if (!patterns.some(mayNameAny)) return [];
      const servers = (await serversOf(owner.tenantId)).filter(({ name }) => patterns.some((pattern) => mayName(pattern, name)));
      const lists = await Promise.all(
        servers.map(async (server) => {
          try {
            return await toolsOf(server, owner, signal);
          } catch (thrown) {
            const error = signal?.aborted ? new McpUnavailable(server.name, TOO_SLOW) : thrown;
            if (!(error instanceof McpUnavailable)) throw error;
            return instead(error, server, owner, onMissing);
          }
        }),
      );
      return lists.flat();
    },

    async states(tenantId) {
      const servers = await serversOf(tenantId);
      return servers.map(({ name, tier, connection, unusable }) => {
        return { name, tier, ...(connection?.state() ?? { state: "down" as const, tools: null, problem: unusable }) };
      });
    },

    async close() {
      await Promise.all([...opened.values()].map(({ connection }) => connection.close()));
    },
  };
}
