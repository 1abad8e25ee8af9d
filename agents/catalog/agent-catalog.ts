import { AppError } from "../../errors/app-error.ts";
import type { AgentStore, RuleStore, StoredAgent } from "../../stores/postgres/agents/agent-store.ts";
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
  /** For all agents of a tenant. Default: none. */
  rules?: Pick<RuleStore, "list"> | null;
}

/** A tenant's agent replaces or disables the system's of that name. Each has the tenant's rules behind its own. */
export function makeAgentCatalog({ system, tenants, rules }: AgentCatalogParts): AgentCatalog {
  function merged(own: readonly StoredAgent[]): readonly Agent[] {
    if (own.length === 0) return system;
    const names = new Set(own.map(({ name }) => name));
    const enabled = own.flatMap(({ name, spec }) => (spec ? [{ ...spec, name, tier: "tenant" as const }] : []));
    return [...system.filter(({ name }) => !names.has(name)), ...enabled].sort((one, other) => (one.name < other.name ? -1 : 1));
  }
  return {
    async list(tenantId) {
      const [own, ofTenant] = await Promise.all([tenants?.list(tenantId) ?? [], rules?.list(tenantId) ?? []]);
      const all = merged(own);
      return ofTenant.length === 0 ? all : all.map((agent) => ({ ...agent, rules: [...agent.rules, ...ofTenant] }));
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
