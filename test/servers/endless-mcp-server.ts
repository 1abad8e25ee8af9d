import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { readJson, startHttpServer } from "./http-server.ts";

/** How its list of tools does not end: one tool on every page, another on every page, a slow page, or no answer to what is named. */
export type Endless = "same tool" | "other tools" | "slow pages" | "initialize" | "notifications/initialized" | "tools/list";

interface Asked {
  id?: number;
  method: string;
  params?: { cursor?: string };
}

const PAGE_MS = 100;

/** An MCP server over HTTP that keeps its clients waiting. */
export async function startEndlessMcpServer(how: Endless) {
  const seen: string[] = [];
  const resultOf = ({ method, params }: Asked, page: number): object => {
    if (method === "initialize")
      return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "endless", version: "1" } };
    if (method !== "tools/list") return { content: [{ type: "text", text: "called" }] };
    const name = how === "same tool" ? "tool" : `tool${params?.cursor ?? 0}`;
    return { tools: [{ name, inputSchema: { type: "object" } }], nextCursor: String(page) };
  };
  const { origin, close } = await startHttpServer((request, response) => {
    void (async () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const asked = await readJson<Asked>(request);
      seen.push(asked.method);
      if (asked.method === how) return void (await once(response, "close"));
      if (asked.id === undefined) return void response.writeHead(202).end();
      if (how === "slow pages" && asked.method === "tools/list") await sleep(PAGE_MS);
      const body = JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: resultOf(asked, seen.length) });
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    })();
  });
  return { url: `${origin}/mcp`, /** Methods that it was asked for. */ seen, close };
}
