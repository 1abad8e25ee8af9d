import type { Request, Router } from "express";
import { z } from "zod";
import { unknownModel } from "../../../agents/catalog/load-agent-files.ts";
import { teamProblems, unknownAgents, unknownTools, unmetNames } from "../../../agents/catalog/unknown-names.ts";
import { AppError, type Problem } from "../../../errors/app-error.ts";
import { cutPage, pageByName } from "../../../stores/page.ts";
import { Agent, AGENT_NAME, AgentSpec, ASSISTANT } from "../../../turn/agent.ts";
import { requireWholeTenant, tenantOf } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Agents } from "../../parts/open-agents.ts";
import type { Models } from "../../parts/open-models.ts";
import type { Mcp } from "../../parts/open-mcp.ts";
import { jsonAnswer, jsonBody, makeRouter, next, operationGroup, route, time } from "../../http/operation.ts";
import { DryRunQuery, isDryRun, parseRequest, wholeNumberField, AfterQuery } from "../../http/parse-request.ts";

/** Switches a system agent off for this tenant. */
const Disabled = z.strictObject({ disabled: z.literal(true) });
const AgentBody = z.union([Disabled, AgentSpec]);

const ListedAgent = Agent.extend({
  disabled: z.boolean().describe("Of the system, and switched off for this tenant."),
  version: z.int().nullable().describe("Null for an agent of the system."),
});
const PutAgent = ListedAgent.extend({ warnings: z.array(z.object({ field: z.string(), problem: z.string() })) });
const AgentList = z.object({ agents: z.array(ListedAgent), next });
const AgentVersions = z.object({
  versions: z.array(z.object({ version: z.int(), agent: AgentSpec.nullable().describe("Null: disabled."), created_at: time })),
  next,
});
const VersionsQuery = z.object({
  limit: wholeNumberField(1, 200).default(200),
  after: wholeNumberField(1, 999_999_999).optional().describe("The `next` of the page before."),
});
const DeletedAgent = z.object({ deleted: z.boolean() });

const params = { name: z.string().regex(AGENT_NAME).describe("The name of an agent.") };

export const agentOperations = operationGroup({
  tag: "agents",
  schemas: { AgentBody, AgentSpec, ListedAgent, PutAgent, AgentList, AgentVersions, DeletedAgent },
  routes: {
    listAgents: route("GET /api/v1/agents", "All agents, by name", { query: AfterQuery, answer: AgentList }),
    getAgent: route("GET /api/v1/agents/:name", "One agent", { params, answer: ListedAgent, errors: ["not_found"] }),
    putAgent: route("PUT /api/v1/agents/:name", "Makes an agent, changes it, or disables one of the system", {
      params,
      query: DryRunQuery,
      body: jsonBody(AgentBody),
      details: "`warnings` tells of MCP servers and skills that it names and that are not there yet.",
      answers: { 200: jsonAnswer(PutAgent, "Changed."), 201: jsonAnswer(PutAgent, "Made.") },
    }),
    deleteAgent: route("DELETE /api/v1/agents/:name", "Deletes an agent of the tenant; one of the system by that name answers again", {
      params,
      answer: DeletedAgent,
      errors: ["not_found"],
    }),
    listAgentVersions: route("GET /api/v1/agents/:name/versions", "How an agent of the tenant was, newest first", {
      params,
      query: VersionsQuery,
      answer: AgentVersions,
      errors: ["not_found"],
    }),
  },
});

type Listed = z.infer<typeof ListedAgent>;

const BUILT_IN: Listed = {
  ...AgentSpec.parse({ description: "Answers when no other agent is asked for or fits. It has no tools." }),
  name: ASSISTANT,
  tier: "system",
  disabled: false,
  version: null,
};

/** Throws AppError `invalid_request`. */
export function nameOf(request: Request): string {
  const name = String(request.params["name"]);
  if (AGENT_NAME.test(name)) return name;
  throw AppError.invalid([
    { field: "name", problem: `"${name.slice(0, 80)}" cannot be the name of an agent: 1 to 64 small letters, digits and dashes` },
  ]);
}

function ownNameOf(request: Request): string {
  const name = nameOf(request);
  if (name !== ASSISTANT) return name;
  throw AppError.invalid([{ field: "name", problem: `"${ASSISTANT}" is built in and cannot be changed; choose another name` }]);
}

const noSuchAgent = (name: string): AppError => new AppError("not_found", `There is no agent "${name}".`);

export function agentRoutes({
  stores,
  agents,
  models,
  mcp,
}: {
  stores: Pick<Stores, "agents" | "knowledgeBases" | "skills">;
  agents: Agents;
  models: Models;
  mcp: Mcp;
}): Router {
  async function listAll(tenantId: string): Promise<Listed[]> {
    const own = await stores.agents.list(tenantId);
    const names = new Set(own.map(({ name }) => name));
    const ofSystem = agents.system.filter(({ name }) => !names.has(name)).map((agent) => ({ ...agent, disabled: false, version: null }));
    const ofTenant = own.flatMap(({ name, spec, version }) => {
      const shown = spec ?? agents.system.find((agent) => agent.name === name); // a disabled one is shown as the system's
      return shown ? [{ ...shown, name, tier: "tenant" as const, disabled: spec === null, version }] : [];
    });
    return [BUILT_IN, ...ofSystem, ...ofTenant];
  }

  async function findListed(tenantId: string, name: string): Promise<Listed> {
    const found = (await listAll(tenantId)).find((agent) => agent.name === name);
    if (!found) throw noSuchAgent(name);
    return found;
  }

  /** Checks what the schema cannot know. Throws AppError `invalid_request`. */
  async function assertReferences(tenantId: string, own: string, spec: AgentSpec): Promise<void> {
    const { model, knowledge, subagents, handoffs } = spec;
    const [base, listed] = await Promise.all([
      typeof knowledge === "string" ? stores.knowledgeBases.find(tenantId, knowledge) : null,
      subagents.length + handoffs.length > 0 ? listAll(tenantId) : [],
    ]);
    const enabled = listed.filter(({ disabled }) => !disabled).map(({ name }) => name);
    const problems = [
      ...(model !== undefined && !models.names.includes(model) ? [{ field: "model", problem: unknownModel(model, models.names) }] : []),
      ...unknownTools(spec, agents.known),
      ...(typeof knowledge === "string" && !base ? [{ field: "knowledge", problem: `there is no knowledge base "${knowledge}"` }] : []),
      ...unknownAgents(own, spec, enabled),
      ...teamProblems(own, spec),
    ];
    if (problems.length > 0) throw AppError.invalid(problems);
  }

  /** Warns of unknown names; the tenant may still define them. */
  async function warningsOf(tenantId: string, spec: AgentSpec): Promise<Problem[]> {
    const [servers, skills] = await Promise.all([mcp.listOf(tenantId), stores.skills.list(tenantId)]);
    const { known } = agents;
    return unmetNames(spec, {
      mcpServers: [...known.mcpServers, ...servers.map(({ name }) => name)],
      skills: [...known.skills, ...skills.map(({ name }) => name)],
    });
  }

  return makeRouter(agentOperations, {
    async listAgents(request, response) {
      const { after } = parseRequest(AfterQuery, request.query);
      const { items, next } = pageByName(await listAll(tenantOf(response)), ({ name }) => name, after);
      response.json({ agents: items, next });
    },
    async getAgent(request, response) {
      response.json(await findListed(tenantOf(response), nameOf(request)));
    },
    putAgent: [
      requireWholeTenant,
      async (request, response) => {
        const [tenantId, name] = [tenantOf(response), ownNameOf(request)];
        const disables = Disabled.safeParse(request.body).success;
        if (disables && !agents.system.some((agent) => agent.name === name))
          throw AppError.invalid([
            { field: "disabled", problem: `the system has no agent "${name}" that could be disabled; delete your own` },
          ]);
        const spec = disables ? null : parseRequest(AgentSpec, request.body);
        if (spec) await assertReferences(tenantId, name, spec);
        const warnings = spec ? await warningsOf(tenantId, spec) : [];
        if (isDryRun(request)) {
          const shown = spec
            ? { ...spec, name, tier: "tenant" as const, disabled: false, version: null }
            : await findListed(tenantId, name);
          return void response.json({ ...shown, warnings });
        }
        const { isNew } = await stores.agents.put(tenantId, name, spec);
        response.status(isNew ? 201 : 200).json({ ...(await findListed(tenantId, name)), warnings });
      },
    ],
    deleteAgent: [
      requireWholeTenant,
      async (request, response) => {
        const [tenantId, name] = [tenantOf(response), ownNameOf(request)];
        if (await stores.agents.remove(tenantId, name)) return void response.json({ deleted: true });
        const isSystem = agents.system.some((agent) => agent.name === name);
        throw isSystem
          ? new AppError(
              "not_found",
              `"${name}" is an agent of the system, which only its file can change. Send {"disabled": true} with PUT to switch it off.`,
            )
          : noSuchAgent(name);
      },
    ],
    async listAgentVersions(request, response) {
      const name = nameOf(request);
      const { limit, after } = parseRequest(VersionsQuery, request.query);
      const found = await stores.agents.versions(tenantOf(response), name, { limit: limit + 1, before: after ?? null });
      if (found.length === 0 && after === undefined) throw noSuchAgent(name);
      const { items, next } = cutPage(found, limit, ({ version }) => String(version));
      response.json({ versions: items.map(({ version, spec, updatedAt }) => ({ version, agent: spec, created_at: updatedAt })), next });
    },
  });
}
