import type { Database } from "../database/database.ts";

export interface TokenUsageStore {
  /** Returns the sum of a tenant and UTC day (YYYY-MM-DD) over all processes; 0 only reads. */
  add(tenantId: string, day: string, tokens: number): Promise<number>;
}

const ADD = `
insert into token_usage as existing (tenant_id, day, tokens) values ($1, $2, $3)
on conflict (tenant_id, day) do update set tokens = existing.tokens + excluded.tokens
returning tokens::text`;

const READ = "select tokens::text from token_usage where tenant_id = $1 and day = $2";

export function makeTokenUsageStore(database: Database): TokenUsageStore {
  return {
    async add(tenantId, day, tokens) {
      const [row] = await database.query<{ tokens: string }>(
        tokens > 0
          ? { name: "token-usage-add", text: ADD, values: [tenantId, day, tokens] }
          : { name: "token-usage-read", text: READ, values: [tenantId, day] },
      );
      return Number(row?.tokens ?? 0);
    },
  };
}
