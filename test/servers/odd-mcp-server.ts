import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { startHttpServer } from "./http-server.ts";

const said = (text: string, isError = false) => ({ content: [{ type: "text" as const, text }], isError });

/** An MCP server with tools that fail in every way; `own` is what it knows of itself. */
function makeOddServer(own: Record<string, string | undefined>): McpServer {
  const server = new McpServer({ name: "odd", version: "1" });
  const text = { text: z.string().describe(`For ${own["SECRET"] ?? "nobody"}.`) };
  server.registerTool("echo", { description: "Says it again.", inputSchema: text, annotations: { readOnlyHint: true } }, (given) =>
    said(given.text),
  );
  server.registerTool("later", { inputSchema: text }, async (given) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return said(given.text);
  });
  server.registerTool("refuse", { description: "long ".repeat(1_000) }, () => said(`No, with ${own["SECRET"] ?? "nothing"}.`, true));
  server.registerTool("reveal", {}, () => said(JSON.stringify(own)));
  server.registerTool("hang", {}, () => new Promise<never>(() => undefined));
  server.registerTool("flood", {}, () => said("x".repeat(10 * 2 ** 20)));
  server.registerTool("die", {}, () => process.exit(1));
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => said("here"));
    return said("grown");
  });
  server.registerTool("odd.name.with.dots", {}, () => said("odd"));
  return server;
}

/** The same over HTTP, in this process. It wants its token where one is given. */
export async function startOddMcpServer({ token: first }: { token?: string } = {}) {
  let token = first;
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const requests: { authorization: string | undefined; session: string | undefined; method: string }[] = [];
  const read = (request: IncomingMessage) => (request.method === "POST" ? json(request) : undefined);
  const { origin, breakConnections, close } = await startHttpServer((request, response) => {
    void (async () => {
      const { authorization } = request.headers;
      const session = request.headers["mcp-session-id"] as string | undefined;
      const body = (await read(request)) as { method?: string } | undefined;
      requests.push({ authorization, session, method: body?.method ?? request.method ?? "" });
      if (token !== undefined && authorization !== `Bearer ${token}`)
        return void response.writeHead(401).end(`not ${String(authorization)}`);
      const known = session === undefined ? undefined : sessions.get(session);
      if (session !== undefined && !known) return void response.writeHead(404).end();
      const transport =
        known ??
        new StreamableHTTPServerTransport({
          sessionIdGenerator: randomUUID,
          onsessioninitialized: (id) => void sessions.set(id, transport),
        });
      if (!known) await makeOddServer({ SECRET: token }).connect(transport);
      await transport.handleRequest(request, response, body);
    })();
  });
  return {
    url: `${origin}/mcp`,
    requests,
    /** How many connections were opened. */
    connections: () => requests.filter(({ method }) => method === "initialize").length,
    /** As after a restart. */
    forgetSessions: () => sessions.clear(),
    breakConnections,
    accept(other: string): void {
      token = other;
    },
    close,
  };
}

if (process.argv[1] === import.meta.filename) await makeOddServer(process.env).connect(new StdioServerTransport());
