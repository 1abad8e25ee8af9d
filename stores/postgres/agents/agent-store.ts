import type { Rule } from "../../../turn/rule.ts";
import { AgentSpec } from "../../../turn/agent.ts";
import type { Database } from "../database/database.ts";
import { makeTenantLists } from "../database/tenant-lists.ts";

/** An agent of a tenant. A null `spec` disables a file's agent of that name. */
export interface StoredAgent {
  name: string;
  spec: AgentSpec | null;
  version: number;
  updatedAt: Date;
}

/** The agents of tenants, with all their versions. */
export interface AgentStore {
  list(tenantId: string): Promise<StoredAgent[]>;
  /** Writes a new version, unless the spec is the same. */
  put(tenantId: string, name: string, spec: AgentSpec | null): Promise<{ version: number; isNew: boolean }>;
  remove(tenantId: string, name: string): Promise<boolean>;
  /** Newest first. */
  versions(tenantId: string, name: string, page: { limit: number; before: number | null }): Promise<Omit<StoredAgent, "name">[]>;
}

/** Defaults for fields that an older stored agent lacks. */
const DEFAULTS = AgentSpec.parse({ description: "none" });

const PUT = `
with changed as (
  insert into agents as present (tenant_id, name, spec, version, created_at, updated_at)
  values ($1, $2, $3::jsonb, 1, clock_timestamp(), clock_timestamp())
  on conflict (tenant_id, name) do update set spec = excluded.spec, version = present.version + 1, updated_at = clock_timestamp()
  where present.spec is distinct from excluded.spec
  returning version, spec
)
insert into agent_versions (tenant_id, name, version, spec, created_at)
select $1, $2, version, spec, clock_timestamp() from changed
returning version`;

interface AgentRow extends Omit<StoredAgent, "updatedAt"> {
  updatedAt: string;
}

export function makeAgentStore(database: Database): AgentStore {
  return {
    list: makeTenantLists<AgentRow, StoredAgent>(database, {
      name: "agents-list",
      rows: (tenant) => `select name, spec, version, updated_at as "updatedAt" from agents where tenant_id = ${tenant} order by name`,
      toItem: (row) => ({ ...row, spec: row.spec && { ...DEFAULTS, ...row.spec }, updatedAt: new Date(row.updatedAt) }),
    }),

    async put(tenantId, name, spec) {
      const values = [tenantId, name, spec && JSON.stringify(spec)];
      const [changed] = await database.query<{ version: number }>({ name: "agent-put", text: PUT, values });
      if (changed) return { version: changed.version, isNew: changed.version === 1 };
      const text = "select version from agents where tenant_id = $1 and name = $2";
      const [present] = await database.query<{ version: number }>({ name: "agent-version", text, values: [tenantId, name] });
      return { version: present?.version ?? 1, isNew: false };
    },

    async remove(tenantId, name) {
      const text = "delete from agents where tenant_id = $1 and name = $2 returning 1";
      return (await database.query({ name: "agent-remove", text, values: [tenantId, name] })).length === 1;
    },

    versions(tenantId, name, { limit, before }) {
      const text = `select version, spec, created_at as "updatedAt" from agent_versions
        where tenant_id = $1 and name = $2 and ($3::int is null or version < $3) order by version desc limit $4`;
      return database.query({ name: "agent-versions", text, values: [tenantId, name, before, limit] });
    },
  };
}

/** The rules of tenants, for all of their agents. */
export interface RuleStore {
  /** In the order that they were given. */
  list(tenantId: string): Promise<Rule[]>;
  /** Takes the place of all. */
  put(tenantId: string, rules: readonly Rule[]): Promise<void>;
}

const PUT_RULES = `
insert into tenant_rules (tenant_id, rules, updated_at) values ($1, $2::jsonb, clock_timestamp())
on conflict (tenant_id) do update set rules = excluded.rules, updated_at = excluded.updated_at`;

export function makeRuleStore(database: Database): RuleStore {
  return {
    list: makeTenantLists<{ rule: Rule }, Rule>(database, {
      name: "rules",
      rows: (tenant) => `
        select rule.value as rule from tenant_rules cross join jsonb_array_elements(rules) with ordinality as rule (value, place)
        where tenant_id = ${tenant} order by place`,
      toItem: ({ rule }) => rule,
    }),
    async put(tenantId, rules) {
      await database.query({ name: "rules-put", text: PUT_RULES, values: [tenantId, JSON.stringify(rules)] });
    },
  };
}
