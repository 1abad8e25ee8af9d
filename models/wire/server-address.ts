/** How a server is reached, besides its address and its key. */
export interface Gateway {
  /** Sent with every request. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Fields of every request to a chat model. */
  extraBody?: Readonly<Record<string, unknown>> | undefined;
  /** The header of the key. Default: `authorization`, or `api-key` for Azure's addresses. */
  keyHeader?: string | undefined;
}

const ONE_THING = /\/(?:chat\/completions|completions|embeddings|models)$/;

/** The address of a path on a server, whose base may end in a slash, name `/chat/completions`, or have a query. */
export function serverUrl(base: string, path: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, "").replace(ONE_THING, "")}${path}`;
  return url;
}

/** The same with `/v1` before the path. */
export function withV1(url: URL): URL {
  const versioned = new URL(url);
  versioned.pathname = url.pathname.replace(/\/(?:chat\/completions|embeddings|models)$/, "/v1$&");
  return versioned;
}

/** A server's address without a query and without secrets. */
export function serverName(base: string): string {
  const { origin, pathname } = serverUrl(base, "");
  return `${origin}${pathname.replace(/\/$/, "")}`;
}

const isAzure = ({ pathname, hostname }: URL): boolean => pathname.includes("/openai/deployments/") || hostname.endsWith(".azure.com");

/** The headers of a request: the key where its server wants it, then the gateway's own. Names in lower case. */
export function serverHeaders(url: URL, apiKey: string | undefined, { headers = {}, keyHeader }: Gateway): Record<string, string> {
  const name = (keyHeader ?? (isAzure(url) ? "api-key" : "authorization")).toLowerCase();
  const key = apiKey === undefined ? {} : { [name]: name === "authorization" ? `Bearer ${apiKey}` : apiKey };
  const own = Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value]));
  return {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    "user-agent": "conversation-graph",
    ...key,
    ...own,
  };
}
