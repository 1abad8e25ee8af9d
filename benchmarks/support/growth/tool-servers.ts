import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { readJson, startHttpServer } from "../../../test/servers/http-server.ts";

const TOOLS_EACH = 100;

interface Asked {
  id?: number;
  method: string;
}

/** It takes what the benches' model gives any tool. */
const toolOf = (number: number): object => ({
  name: `tool-${number}`,
  description: `Looks up in register ${number} when its office opens, who answers there, and what it asks of visitors.`,
  inputSchema: {
    type: "object",
    properties: {
      time_zone: { type: "string", description: "The time zone of the answer." },
      language: { type: "string", enum: ["en", "zh"], description: "The language of the answer." },
    },
    required: ["time_zone"],
  },
});

function resultOf({ method }: Asked, tools: readonly object[]): object {
  if (method === "initialize")
    return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "register", version: "1" } };
  return method === "tools/list" ? { tools } : { content: [{ type: "text", text: "It opens at nine." }] };
}

/** Starts MCP servers that have `tool-0`, `tool-1`, … together. They end with `opened`. Returns the service's settings for them. */
export async function startToolServers(count: number, opened: AsyncDisposableStack): Promise<{ MCP_CONFIG: string }> {
  const tools = Array.from({ length: count }, (_, number) => toolOf(number));
  const http = await startHttpServer((request, response) => {
    void (async () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const asked = await readJson<Asked>(request);
      if (asked.id === undefined) return void response.writeHead(202).end();
      const from = TOOLS_EACH * Number(request.url?.slice(1));
      const result = resultOf(asked, tools.slice(from, from + TOOLS_EACH));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result }));
    })();
  });
  opened.defer(() => http.close());
  const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-tools-"));
  opened.defer(() => rm(folder, { recursive: true }));
  const servers = Array.from({ length: Math.ceil(count / TOOLS_EACH) }, (_, number) => [
    `register-${number}`,
    { url: `${http.origin}/${number}` },
  ]);
  const file = path.join(folder, "mcp.json");
  await writeFile(file, JSON.stringify({ mcpServers: Object.fromEntries(servers) as object }));
  return { MCP_CONFIG: file };
}
