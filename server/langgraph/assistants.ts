import { v5 as uuidv5 } from "uuid";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { ASSISTANT } from "../../turn/agent.ts";
import type { Agents } from "../parts/open-agents.ts";
import type { Stores } from "../parts/open-stores.ts";
import { time } from "../http/operation.ts";

/** The one graph. As an assistant it lets the service choose the agent. */
export const GRAPH_ID = "conversation";

/** LangGraph's own, so that ids equal those of its servers. */
const NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

export const assistantId = (name: string): string => uuidv5(name, NAMESPACE);

export const Assistant = z.object({
  assistant_id: z.uuid(),
  graph_id: z.literal(GRAPH_ID),
  name: z.string().describe("Of an agent: see `GET /api/v1/agents`."),
  description: z.string(),
  config: z.object({}),
  context: z.object({}),
  metadata: z.object({ created_by: z.literal("system"), tier: z.enum(["system", "tenant"]) }),
  version: z.int(),
  created_at: time,
  updated_at: time,
});
export type Assistant = z.infer<typeof Assistant>;

const LONG_AGO = new Date(0);

function toAssistant(name: string, description: string, of: { tier?: "system" | "tenant"; version?: number; at?: Date } = {}): Assistant {
  const { tier = "system", version = 1, at = LONG_AGO } = of;
  return {
    assistant_id: assistantId(name),
    graph_id: GRAPH_ID,
    name,
    description,
    config: {},
    context: {},
    metadata: { created_by: "system", tier },
    version,
    created_at: at.toISOString(),
    updated_at: at.toISOString(),
  };
}

const BUILT_IN = toAssistant(ASSISTANT, "Answers when no other agent is asked for or fits. It has no tools.");
const GRAPH = toAssistant(GRAPH_ID, "Leaves the choice of the agent to the service.");

export type Assistants = ReturnType<typeof makeAssistants>;

/** A tenant's agents in LangGraph's protocol. */
export function makeAssistants({ agents, stores }: { agents: Agents; stores: Pick<Stores, "agents"> }) {
  /** By name. */
  async function list(tenantId: string): Promise<Assistant[]> {
    const [all, own] = await Promise.all([agents.catalog.list(tenantId), stores.agents.list(tenantId)]);
    const stored = new Map(own.map((agent) => [agent.name, agent]));
    const named = all.map(({ name, tier, description }) => {
      const { version = 1, updatedAt: at = LONG_AGO } = stored.get(name) ?? {};
      return toAssistant(name, description, { tier, version, at });
    });
    return [BUILT_IN, ...named].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Finds by id or name. Throws AppError `not_found`. */
  async function find(tenantId: string, given: string): Promise<Assistant> {
    if (given === GRAPH_ID || given === GRAPH.assistant_id) return GRAPH;
    const found = (await list(tenantId)).find(({ assistant_id: id, name }) => name === given || id === given.toLowerCase());
    if (found) return found;
    throw new AppError(
      "not_found",
      `There is no assistant "${given.slice(0, 80)}". Assistants are agents: see POST /langgraph/assistants/search.`,
    );
  }

  return {
    list,
    find,
    /** The agent of a run; null: the service picks one. Throws AppError `not_found`. */
    async agentOf(tenantId: string, given: string): Promise<string | null> {
      const { name } = await find(tenantId, given);
      return name === GRAPH_ID ? null : name;
    },
  };
}
