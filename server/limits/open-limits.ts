import { makeTokenUsageStore } from "../../stores/postgres/token-usage-store.ts";
import type { Database } from "../../stores/postgres/database.ts";
import type { Config } from "../config.ts";
import { makeRateLimits, type RateLimits } from "./rate-limits.ts";
import { makeTokenQuota, type TokenQuota } from "./token-quota.ts";
import { makeTurnLimits, type TurnLimits } from "./turn-limits.ts";
import { makeTurnSlots } from "./turn-slots.ts";

export interface Limits {
  rates: RateLimits;
  turns: TurnLimits;
  /** For what asks the model without being a turn. */
  quota: Pick<TokenQuota, "assertLeft" | "add">;
  /** Writes the tokens that have not been written. */
  close(): Promise<void>;
}

/** The limits of the configuration. `onError` hears of token sums that could not be written yet. */
export function openLimits(config: Config, database: Database, onError: (error: unknown) => void): Limits {
  const quota = makeTokenQuota({ usage: makeTokenUsageStore(database), perDay: config.TOKENS_PER_DAY, onError });
  const slots = makeTurnSlots({ perUser: config.MAX_CONCURRENT_TURNS_PER_USER, perTenant: config.MAX_CONCURRENT_TURNS_PER_TENANT });
  return {
    rates: makeRateLimits({ perUser: config.RATE_LIMIT_PER_MINUTE, perTenant: config.RATE_LIMIT_PER_MINUTE_PER_TENANT }),
    turns: makeTurnLimits({ slots, quota }),
    quota,
    close: () => quota.close(),
  };
}
