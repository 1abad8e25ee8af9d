import type { Request, Router } from "express";
import { isIP } from "node:net";
import { z } from "zod";
import { HttpSpec, mayBeKey, MCP_SERVER_NAME, NAME_PROBLEM, STORED_SERVER_NAME } from "../../../agents/mcp/mcp-server.ts";
import { isPublicAddress } from "../../../agents/web/public-address.ts";
import { AppError } from "../../../errors/app-error.ts";
import { requireWholeTenant, tenantOf } from "../../auth/caller.ts";
import type { Mcp } from "../../parts/open-mcp.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route } from "../../http/operation.ts";
import { DryRunQuery, isDryRun, parseRequest } from "../../http/parse-request.ts";

const MOST_SERVERS = 20;

export const McpServerState = z.object({
  name: z.string(),
  tier: z.enum(["tenant", "system"]),
  state: z.enum(["idle", "connected", "down"]).describe("In this process. It connects when an agent needs it."),
  tools: z.int().nullable().describe("How many it offered when it was last asked; null: it was not."),
  problem: z.string().nullable().describe("Why it is down."),
});
const McpServerBody = HttpSpec.omit({ type: true });
const ListedMcpServer = McpServerState.extend({
  url: z
    .string()
    .nullable()
    .describe("Without its query and long parts of its path, which may hold a secret. Null for a server of the system."),
  headers: z.array(z.string()).describe("Their names. Their values are never shown again."),
});
const McpServerList = z.object({ mcp_servers: z.array(ListedMcpServer), next: z.null() });
const DeletedMcpServer = z.object({ deleted: z.boolean() });

const named = (rule: RegExp) => ({ name: z.string().regex(rule).describe("The name of an MCP server.") });
const params = named(STORED_SERVER_NAME);

export const mcpServerOperations = operationGroup({
  tag: "agents",
  schemas: { McpServerBody, McpServerState, ListedMcpServer, McpServerList, DeletedMcpServer },
  routes: {
    listMcpServers: route("GET /api/v1/mcp-servers", "The MCP servers whose tools agents may have", { answer: McpServerList }),
    getMcpServer: route("GET /api/v1/mcp-servers/:name", "One MCP server", { params, answer: ListedMcpServer, errors: ["not_found"] }),
    putMcpServer: route("PUT /api/v1/mcp-servers/:name", "Adds an MCP server of the tenant, or changes it as a whole", {
      details:
        "It is reached over streamable HTTP, at a public address of the internet only. Its address and headers are kept encrypted. A change of its origin deletes the sign-ins of users there.",
      params: named(MCP_SERVER_NAME),
      query: DryRunQuery,
      body: jsonBody(McpServerBody),
      answers: { 200: jsonAnswer(ListedMcpServer, "Changed."), 201: jsonAnswer(ListedMcpServer, "Added.") },
    }),
    deleteMcpServer: route("DELETE /api/v1/mcp-servers/:name", "Deletes an MCP server of the tenant", {
      params,
      answer: DeletedMcpServer,
      errors: ["not_found"],
    }),
  },
});

function nameOf(request: Request, rule = STORED_SERVER_NAME): string {
  const name = String(request.params["name"]);
  if (rule.test(name)) return name;
  throw AppError.invalid([{ field: "name", problem: `"${name.slice(0, 80)}" ${NAME_PROBLEM}` }]);
}

/** Checks addresses now; names are looked up at connecting. */
function assertMayBePublic(url: string): void {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) === 0 || isPublicAddress(host)) return;
  throw AppError.invalid([{ field: "url", problem: `"${host}" is no public address of the internet` }]);
}

function shownAddress(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname.split("/").map((segment) => (mayBeKey(segment) ? "…" : segment));
  return origin + path.join("/") + (search === "" ? "" : "?…");
}

export function mcpServerRoutes({ mcp }: { mcp: Mcp }): Router {
  async function listAll(tenantId: string): Promise<z.infer<typeof ListedMcpServer>[]> {
    const [states, own] = await Promise.all([mcp.servers.states(tenantId), mcp.listOf(tenantId)]);
    return states.map((state) => {
      const spec = state.tier === "tenant" ? (own.find(({ name }) => name === state.name)?.spec ?? null) : null;
      return { ...state, url: spec && shownAddress(spec.url), headers: Object.keys(spec?.headers ?? {}) };
    });
  }

  async function findListed(tenantId: string, name: string) {
    const found = (await listAll(tenantId)).find((server) => server.name === name);
    if (!found) throw new AppError("not_found", `There is no MCP server "${name}".`);
    return found;
  }

  function ownNameOf(request: Request, rule?: RegExp): string {
    const name = nameOf(request, rule);
    if (!mcp.systemNames.includes(name)) return name;
    throw AppError.invalid([
      { field: "name", problem: `"${name}" is a server of the system, which only MCP_CONFIG changes; choose another name` },
    ]);
  }

  return makeRouter(mcpServerOperations, {
    async listMcpServers(_request, response) {
      response.json({ mcp_servers: await listAll(tenantOf(response)), next: null });
    },
    async getMcpServer(request, response) {
      response.json(await findListed(tenantOf(response), nameOf(request)));
    },
    putMcpServer: [
      requireWholeTenant,
      async (request, response) => {
        const [tenantId, name] = [tenantOf(response), ownNameOf(request, MCP_SERVER_NAME)];
        const spec = parseRequest(McpServerBody, request.body);
        assertMayBePublic(spec.url);
        const present = await mcp.listOf(tenantId);
        if (present.length >= MOST_SERVERS && !present.some((server) => server.name === name))
          throw AppError.invalid([{ field: "name", problem: `the tenant has ${MOST_SERVERS} MCP servers; delete one first` }]);
        if (isDryRun(request)) {
          const facts = { url: shownAddress(spec.url), headers: Object.keys(spec.headers) };
          return void response.json({ name, tier: "tenant", state: "idle", tools: null, problem: null, ...facts });
        }
        const { isNew } = await mcp.put(tenantId, name, spec);
        response.status(isNew ? 201 : 200).json(await findListed(tenantId, name));
      },
    ],
    deleteMcpServer: [
      requireWholeTenant,
      async (request, response) => {
        const name = ownNameOf(request);
        if (!(await mcp.remove(tenantOf(response), name))) throw new AppError("not_found", `There is no MCP server "${name}".`);
        response.json({ deleted: true });
      },
    ],
  });
}
