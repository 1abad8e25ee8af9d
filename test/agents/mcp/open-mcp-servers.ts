import { afterEach } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { MCP_TIMES } from "../../../agents/mcp/mcp-connection.ts";
import { type McpServer, type McpServers, type McpTimes, StdioSpec } from "../../../agents/mcp/mcp-server.ts";
import { makeMcpServers } from "../../../agents/mcp/mcp-servers.ts";
import { runToolCall } from "../../../agents/run-tool-call.ts";
import type { AgentTool } from "../../../agents/tool.ts";
import { makePublicFetch } from "../../../agents/web/public-fetch.ts";
import { startOddMcpServer } from "../../servers/odd-mcp-server.ts";

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
export const packaged = (name: string, ...args: string[]) => {
  return StdioSpec.parse({
    command: process.execPath,
    args: [fileOf(`node_modules/@modelcontextprotocol/${name}/dist/index.js`), ...args],
  });
};
export const SECRET = "a-secret-of-the-server";
export const odd = StdioSpec.parse({ command: process.execPath, args: [fileOf("test/servers/odd-mcp-server.ts")], env: { SECRET } });

export const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

export function open(specs: Record<string, McpServer["spec"]>, times: Partial<McpTimes> = {}, trustHints = false): McpServers {
  const system = Object.entries(specs).map(([name, spec]) => ({ name, tier: "system" as const, spec }));
  const servers = makeMcpServers({
    system,
    ofTenant: async () => [],
    trustHints,
    signIn: null,
    publicFetch: async () => makePublicFetch(),
    times: { ...MCP_TIMES, ...times },
  });
  opened.push(servers);
  return servers;
}

export async function openOdd(...given: Parameters<typeof startOddMcpServer>) {
  const server = await startOddMcpServer(...given);
  opened.push({ close: () => server.close() });
  return server;
}

const OWNER = { tenantId: "acme", userId: "ada" };

export async function list(servers: McpServers, patterns = ["mcp__*"], signal?: AbortSignal) {
  const missing: string[] = [];
  const tools = await servers.tools(OWNER, { patterns, onMissing: (problem) => missing.push(problem), signal });
  return { tools, missing, names: tools.map(({ name }) => name) };
}

let calls = 0;
/** As a turn runs it. */
export function run(tools: readonly AgentTool[], name: string, given: object = {}, { userId = "ada", timeoutMs = 20_000 } = {}) {
  const turn = { ...OWNER, userId, turnId: "t", conversationId: "c", messageId: "m", agent: "a", showPlan: () => undefined };
  const { signal } = new AbortController();
  const call = { id: `call_${calls++}`, name, arguments: JSON.stringify(given) };
  return runToolCall(call, { tools, permissionOf: () => "allow", turn, hooks: {}, timeoutMs, signal });
}
