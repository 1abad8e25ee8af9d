import type { AgentSpec } from "../../../turn/agent.ts";
import type { Database } from "../database/database.ts";
import { readGathered } from "../database/gathered-reads.ts";

/** An agent of a tenant. A null `spec` disables the agent of that name which a file has. */
export interface StoredAgent {
  name: string;
  spec: AgentSpec | null;
  version: number;
  updatedAt: Date;
}

/** The agents of tenants, with all their versions. */
export interface AgentStore {
  list(tenantId: string): Promise<StoredAgent[]>;
  /** Writes a new version. The same spec again writes none. */
  put(tenantId: string, name: string, spec: AgentSpec | null): Promise<{ version: number; isNew: boolean }>;
  /** False when there is none. */
  remove(tenantId: string, name: string): Promise<boolean>;
  /** Newest first. */
  versions(tenantId: string, name: string): Promise<Omit<StoredAgent, "name">[]>;
}

const KEPT_TENANTS = 1_000;

/** The digest is the version of the whole list. What has it already is not sent. */
const listUnlessKnown = (tenant: string, known: string): string => `
select json_build_object('digest', digest, 'agents', case when digest is distinct from ${known} then agents end)
from (select coalesce(json_agg(agent), '[]') as agents from (
  select name, spec, version, updated_at as "updatedAt" from agents where tenant_id = ${tenant} order by name) agent) listed
cross join lateral (select md5(agents::text) as digest) hashed`;

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
  const lists = new Map<string, { digest: string; agents: StoredAgent[] }>();
  return {
    list(tenantId) {
      const known = lists.get(tenantId);
      return readGathered(database, {
        name: "agents-list",
        json: (place) => listUnlessKnown(place(1), place(2)),
        values: [tenantId, known?.digest ?? null],
        toResult(json) {
          const { digest, agents } = json as { digest: string; agents: AgentRow[] | null };
          const read = agents?.map((agent) => ({ ...agent, updatedAt: new Date(agent.updatedAt) }));
          const list = known && !read ? known : { digest, agents: read ?? [] };
          lists.delete(tenantId); // the last used is the last to go
          lists.set(tenantId, list);
          const [oldest] = lists.keys();
          if (lists.size > KEPT_TENANTS && oldest !== undefined) lists.delete(oldest);
          return list.agents;
        },
      });
    },

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

    versions(tenantId, name) {
      const text = `select version, spec, created_at as "updatedAt" from agent_versions where tenant_id = $1 and name = $2 order by version desc`;
      return database.query({ name: "agent-versions", text, values: [tenantId, name] });
    },
  };
}
