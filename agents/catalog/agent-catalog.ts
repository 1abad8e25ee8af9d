import { AppError } from "../../errors/app-error.ts";
import type { AgentStore } from "../../stores/postgres/agents/agent-store.ts";
import { type Agent, ASSISTANT } from "../../turn/agent.ts";

/** The agents of tenants, besides the assistant. */
export interface AgentCatalog {
  /** The enabled agents by name. */
  list(tenantId: string): Promise<readonly Agent[]>;
}

export const NO_AGENTS: AgentCatalog = { list: async () => [] };

export interface AgentCatalogParts {
  /** From files or code; the same for all tenants. */
  system: readonly Agent[];
  tenants: Pick<AgentStore, "list"> | null;
}

/** A tenant's agent replaces or disables the system's of that name. */
export function makeAgentCatalog({ system, tenants }: AgentCatalogParts): AgentCatalog {
  return {
    async list(tenantId) {
      const own = tenants ? await tenants.list(tenantId) : [];
      if (own.length === 0) return system;
      const names = new Set(own.map(({ name }) => name));
      const enabled = own.flatMap(({ name, spec }) => (spec ? [{ ...spec, name, tier: "tenant" as const }] : []));
      return [...system.filter(({ name }) => !names.has(name)), ...enabled].sort((one, other) => (one.name < other.name ? -1 : 1));
    },
  };
}

/** Null for the assistant. Throws AppError `invalid_request` for an unknown name. */
export function findAgent(agents: readonly Agent[], name: string): Agent | null {
  if (name === ASSISTANT) return null;
  const found = agents.find((agent) => agent.name === name);
  if (found) return found;
  const known = [ASSISTANT, ...agents.map((agent) => agent.name)].join(", ");
  throw AppError.invalid([{ field: "agent", problem: `there is no agent "${name.slice(0, 80)}"; known ones: ${known}` }]);
}
