import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { guardFetch, MOST_BYTES } from "./guarded-fetch.ts";
import type { McpServer } from "./mcp-server.ts";

export interface TransportParts {
  /** For servers of tenants: reaches public addresses only. */
  publicFetch: () => Promise<typeof fetch>;
}

/** JSON-RPC's code for a lost connection, as in the SDK. */
const CONNECTION_CLOSED = -32_000;

/** The `fetch` for a server and for its sign-in. */
export const fetchFor = async ({ tier }: Pick<McpServer, "tier">, publicFetch: TransportParts["publicFetch"]): Promise<typeof fetch> =>
  tier === "tenant" ? publicFetch() : fetch;

/** Opens the transport to a server; the first one loads the SDK. A process gets only PATH, HOME and the like of this environment. */
export async function openTransport(
  server: McpServer,
  { publicFetch }: TransportParts,
  authProvider?: OAuthClientProvider,
): Promise<Transport> {
  const { spec } = server;
  if ("command" in spec) {
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { command, args, env, cwd } = spec;
    return new StdioClientTransport({
      command,
      args,
      env,
      stderr: "ignore",
      maxBufferSize: MOST_BYTES,
      ...(cwd === undefined ? {} : { cwd }),
    });
  }
  const [{ StreamableHTTPClientTransport }, inner] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    fetchFor(server, publicFetch),
  ]);
  const guarded = guardFetch(inner, ({ id, isTooLarge }) => {
    const message = isTooLarge ? `it sent more than ${MOST_BYTES} bytes` : "its answer broke off";
    // An answer that came is known already, and this one is dropped.
    transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: CONNECTION_CLOSED, message } });
  });
  const options = { requestInit: { headers: spec.headers }, fetch: guarded, ...(authProvider ? { authProvider } : {}) };
  const transport = new StreamableHTTPClientTransport(new URL(spec.url), options);
  return transport;
}
