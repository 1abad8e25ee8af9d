import type { Rule } from "../../../turn/rule.ts";
import type { Database } from "../database/database.ts";
import { makeTenantLists } from "../database/tenant-lists.ts";

/** The rules of tenants, for all of their agents. */
export interface RuleStore {
  /** In the order that they were given. */
  list(tenantId: string): Promise<Rule[]>;
  /** Takes the place of all. */
  put(tenantId: string, rules: readonly Rule[]): Promise<void>;
}

const PUT = `
insert into tenant_rules (tenant_id, rules, updated_at) values ($1, $2::jsonb, clock_timestamp())
on conflict (tenant_id) do update set rules = excluded.rules, updated_at = excluded.updated_at`;

export function makeRuleStore(database: Database): RuleStore {
  return {
    list: makeTenantLists<{ rule: Rule }, Rule>(database, {
      name: "rules-list",
      rows: (tenant) => `
        select rule.value as rule from tenant_rules cross join jsonb_array_elements(rules) with ordinality as rule (value, place)
        where tenant_id = ${tenant} order by place`,
      toItem: ({ rule }) => rule,
    }),
    async put(tenantId, rules) {
      await database.query({ name: "rules-put", text: PUT, values: [tenantId, JSON.stringify(rules)] });
    },
  };
}
