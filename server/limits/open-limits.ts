import { makeTokenUsageStore } from "../../stores/postgres/token-usage-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { Config } from "../start/config.ts";
import { makeAdmission, type Overload, watchEventLoop, withAdmission } from "./admission.ts";
import { makeRateLimits, type RateLimits } from "./rate-limits.ts";
import { makeSlots } from "./slots.ts";
import { type Admit, makeAdmit } from "./turn-limits.ts";
import { makeTokenQuota } from "./token-quota.ts";

export interface Limits {
  rates: RateLimits;
  admitTurn: Admit;
  /** For a front end's own task, which asks the model without being a turn. */
  admitTask: Admit;
  /** How late the event loop is, in milliseconds. */
  lagMs: () => number;
  /** Writes the tokens that have not been written. */
  close(): Promise<void>;
}

/** Who hears of what the limits do. */
export interface LimitsListener {
  /** Token sums could not be written yet. */
  onError: (error: unknown) => void;
  /** A turn was refused because this process has too much to do. */
  onRefused: (why: Overload) => void;
}

/** The limits of the configuration. */
export function openLimits(config: Config, database: Database, { onError, onRefused }: LimitsListener): Limits {
  const quota = makeTokenQuota({ usage: makeTokenUsageStore(database), perDay: config.TOKENS_PER_DAY, onError });
  const perTenant = { limit: config.MAX_CONCURRENT_TURNS_PER_TENANT, variable: "MAX_CONCURRENT_TURNS_PER_TENANT" };
  const turnSlots = makeSlots({
    of: ["turn", "turns"],
    perUser: { limit: config.MAX_CONCURRENT_TURNS_PER_USER, variable: "MAX_CONCURRENT_TURNS_PER_USER" },
    perTenant,
  });
  const taskSlots = makeSlots({
    of: ["task of a front end", "tasks of front ends"],
    perUser: { limit: config.MAX_CONCURRENT_TASKS_PER_USER, variable: "MAX_CONCURRENT_TASKS_PER_USER" },
    perTenant,
  });
  const lag = watchEventLoop();
  const admission = makeAdmission({ mostTurns: config.MAX_TURNS_PER_PROCESS, lag, onRefused });
  return {
    rates: makeRateLimits({ perUser: config.RATE_LIMIT_PER_MINUTE, perTenant: config.RATE_LIMIT_PER_MINUTE_PER_TENANT }),
    admitTurn: makeAdmit({ slots: withAdmission(turnSlots, admission), quota }),
    admitTask: makeAdmit({ slots: withAdmission(taskSlots, admission), quota }),
    lagMs: () => lag.milliseconds(),
    async close() {
      lag.close();
      await quota.close();
    },
  };
}
