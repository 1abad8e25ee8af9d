import type { SkillStore } from "../../stores/postgres/agents/skill-store.ts";
import { matchesPattern } from "../tool.ts";
import type { SystemSkill } from "./load-skill-folders.ts";
import type { Skill, SkillFiles } from "./skill.ts";

export interface SkillCatalog {
  /** The enabled skills that patterns name, by name. */
  list(tenantId: string, patterns: readonly string[]): Promise<Skill[]>;
  /** Null when there is none, or it is disabled. */
  read(tenantId: string, name: string): Promise<SkillFiles | null>;
}

export const NO_SKILLS: SkillCatalog = { list: async () => [], read: async () => null };

export interface SkillCatalogParts {
  /** From folders; the same for all tenants. */
  system: readonly SystemSkill[];
  tenants: Pick<SkillStore, "list" | "find">;
}

/** A tenant's skill replaces or disables the system's of that name. */
export function makeSkillCatalog({ system, tenants }: SkillCatalogParts): SkillCatalog {
  return {
    async list(tenantId, patterns) {
      if (patterns.length === 0) return [];
      const own = await tenants.list(tenantId);
      const names = new Set(own.map(({ name }) => name));
      const ofTenant = own.flatMap(({ name, description }) =>
        description === null ? [] : [{ name, description, tier: "tenant" as const }],
      );
      return [...system.filter(({ name }) => !names.has(name)), ...ofTenant]
        .filter(({ name }) => patterns.some((pattern) => matchesPattern(pattern, name)))
        .sort((one, other) => (one.name < other.name ? -1 : 1));
    },
    async read(tenantId, name) {
      const own = await tenants.find(tenantId, name);
      return own ? own.files : (system.find((skill) => skill.name === name)?.files ?? null);
    },
  };
}
