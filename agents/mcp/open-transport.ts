import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { McpServer } from "./mcp-server.ts";

export const MOST_BYTES = 8 * 2 ** 20;

/** After the end of a stream the SDK still reads what came before it. */
const SETTLE_MS = 200;

interface StreamEnd {
  /** The id of the message that got no answer. */
  id: string | number;
  isTooLarge: boolean;
}

function messageIdOf(body: unknown): string | number | undefined {
  if (typeof body !== "string") return undefined;
  const { id, method } = JSON.parse(body) as { id?: string | number; method?: string };
  return method === undefined ? undefined : id;
}

/**
 * A `fetch` for the SDK's transport. It limits answers to MOST_BYTES and calls `onStreamEnd` for each ended stream that cannot be resumed.
 * The transport alone would leave the request open when the server dies.
 */
export function guardFetch(
  inner: typeof fetch,
  onStreamEnd: (end: StreamEnd) => void,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async function guardedFetch(url, init) {
    const response = await inner(url, init);
    const { body, headers, status, statusText } = response;
    if (!body) return response;
    const id = headers.get("content-type")?.startsWith("text/event-stream") ? messageIdOf(init?.body) : undefined;
    let bytes = 0;
    let isResumable = false;
    let last = "";
    const end = (isTooLarge: boolean): void => {
      if (id !== undefined && !isResumable) setTimeout(() => onStreamEnd({ id, isTooLarge }), SETTLE_MS).unref();
    };
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const counted = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            return end(false);
          }
          bytes += value.length;
          if (bytes > MOST_BYTES) {
            await reader.cancel();
            controller.error(new RangeError(`an answer of more than ${MOST_BYTES} bytes`));
            return end(true);
          }
          if (id !== undefined && !isResumable) {
            const text = last + Buffer.from(value).toString("latin1");
            isResumable = /(?:^|\n)id:/.test(text);
            last = text.slice(-3);
          }
          controller.enqueue(value);
        } catch (error) {
          controller.error(error);
          end(false);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(counted, { status, statusText, headers });
  };
}

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
