import type { Database } from "../../stores/postgres/database/database.ts";
import { type UsageStore, makeTokenUsageStore } from "../../stores/postgres/usage/usage-store.ts";
import type { Config } from "../settings/config.ts";
import type { UsageMeter } from "./usage-meter.ts";
import { makeAdmission, makeAdmit, type Overload, watchEventLoop } from "./admission.ts";
import { makeListLimits } from "./list-limits.ts";
import { makeRateLimits } from "./rate-limits.ts";
import { makeCostQuota } from "./cost-quota.ts";
import { makeTokenQuota } from "./token-quota.ts";

/** `onError`: token sums could not be written yet. `admitTask` is for a front end's task, which asks the model without a turn. */
export function openLimits(
  config: Config,
  { database, usage, meter }: { database: Database; usage: UsageStore; meter: UsageMeter },
  { onError, onRefused }: { onError: (error: unknown) => void; onRefused: (why: Overload) => void },
) {
  const quota = makeTokenQuota({ usage: makeTokenUsageStore(database), perDay: config.TOKENS_PER_DAY, onError });
  const costs = makeCostQuota({ usage, meter, perDay: config.COST_PER_DAY });
  const lag = watchEventLoop();
  const admission = makeAdmission({ mostTurns: config.MAX_TURNS_PER_PROCESS, lag, onRefused });
  const together = {
    perTenant: [config.MAX_CONCURRENT_TURNS_PER_TENANT, "MAX_CONCURRENT_TURNS_PER_TENANT"],
    admission,
    quota,
    costs,
  } as const;
  const rates = makeRateLimits({ perUser: config.RATE_LIMIT_PER_MINUTE, perTenant: config.RATE_LIMIT_PER_MINUTE_PER_TENANT });
  const turns = makeAdmit({
    of: ["turn", "turns"],
    perUser: [config.MAX_CONCURRENT_TURNS_PER_USER, "MAX_CONCURRENT_TURNS_PER_USER"],
    ...together,
  });
  const tasks = makeAdmit({
    of: ["task of a front end", "tasks of front ends"],
    perUser: [config.MAX_CONCURRENT_TASKS_PER_USER, "MAX_CONCURRENT_TASKS_PER_USER"],
    ...together,
  });
  return {
    rates,
    admitTurn: turns.admit,
    admitTask: tasks.admit,
    list: makeListLimits({ config, rates, quota, costs, admission, turns: turns.count, tasks: tasks.count }),
    lagMs: () => lag.milliseconds(),
    async close() {
      lag.close();
      await quota.close();
    },
  };
}

export type Limits = ReturnType<typeof openLimits>;
