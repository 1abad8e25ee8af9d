import { z } from "zod";
import type { Config } from "../settings/config.ts";
import type { Admission, CountSlots } from "./admission.ts";
import type { CostQuota } from "./cost-quota.ts";
import type { RateLimits } from "./rate-limits.ts";
import type { TokenQuota } from "./token-quota.ts";

export const Limit = z.object({
  setting: z.string().describe("The variable that sets it."),
  of: z.enum(["user", "tenant", "process"]),
  limit: z.number().nullable().describe("Null: there is none."),
  used: z
    .number()
    .nullable()
    .describe("Null where nothing is counted: without a limit of what a day or a minute may bring, and without `user_id`."),
});
export type Limit = z.infer<typeof Limit>;

interface ListLimitsParts {
  config: Config;
  rates: RateLimits;
  quota: Pick<TokenQuota, "usedBy">;
  costs: Pick<CostQuota, "usedBy">;
  admission: Pick<Admission, "inside" | "mostTurns">;
  turns: CountSlots;
  tasks: CountSlots;
}

/** Lists the limits of a tenant and a user with their use. Quotas count all processes, the others this one. */
export function makeListLimits({ config, rates, quota, costs, admission, turns, tasks }: ListLimitsParts) {
  const perUser = config.RATE_LIMIT_PER_MINUTE;
  const perTenant = config.RATE_LIMIT_PER_MINUTE_PER_TENANT;
  const { TOKENS_PER_DAY: tokensPerDay, COST_PER_DAY: costPerDay } = config;

  return async function listLimits(tenantId: string, userId: string | null): Promise<Limit[]> {
    const [requests, tokens, cost] = await Promise.all([
      rates.used(tenantId, userId),
      tokensPerDay === 0 ? null : quota.usedBy(tenantId),
      costPerDay === 0 ? null : costs.usedBy(tenantId),
    ]);
    const running = turns(tenantId, userId);
    const one = (setting: keyof Config, of: Limit["of"], limit: number, used: number | null): Limit => {
      return { setting, of, limit: limit === 0 ? null : limit, used: of === "user" && userId === null ? null : used };
    };
    return [
      one("RATE_LIMIT_PER_MINUTE", "user", perUser, perUser === 0 ? null : requests.user),
      one("RATE_LIMIT_PER_MINUTE_PER_TENANT", "tenant", perTenant, perTenant === 0 ? null : requests.tenant),
      one("MAX_CONCURRENT_TURNS_PER_USER", "user", config.MAX_CONCURRENT_TURNS_PER_USER, running.user),
      one("MAX_CONCURRENT_TASKS_PER_USER", "user", config.MAX_CONCURRENT_TASKS_PER_USER, tasks(tenantId, userId).user),
      one("MAX_CONCURRENT_TURNS_PER_TENANT", "tenant", config.MAX_CONCURRENT_TURNS_PER_TENANT, running.tenant),
      one("MAX_TURNS_PER_PROCESS", "process", admission.mostTurns, admission.inside()),
      one("TOKENS_PER_DAY", "tenant", tokensPerDay, tokens),
      one("COST_PER_DAY", "tenant", costPerDay, cost),
    ];
  };
}
