import { makeTokenUsageStore } from "../../stores/postgres/token-usage-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { Config } from "../start/config.ts";
import { makeAdmission, type Overload, watchEventLoop, withAdmission } from "./admission.ts";
import { makeRateLimits, type RateLimits } from "./rate-limits.ts";
import { makeSlots, type Slots } from "./owner-slots.ts";
import { makeTokenQuota, type TokenQuota } from "./token-quota.ts";
import type { Owner } from "../../stores/owner.ts";

/** A slot of a turn, or of a front end's own task, while it runs. */
export interface Permit {
  /** Counts towards the day of its tenant. */
  addTokens(tokens: number): void;
  /** Must be called however it ended. */
  release(): void;
}

/** Takes a slot of a user and a tenant. Throws AppError `too_many_turns`, `overloaded` or `token_quota_exceeded`. */
type Admit = (owner: Owner) => Promise<Permit>;

function makeAdmit({ slots, quota }: { slots: Slots; quota: Pick<TokenQuota, "assertLeft" | "add"> }): Admit {
  return async function admit(owner) {
    const release = slots.take(owner);
    try {
      await quota.assertLeft(owner.tenantId);
    } catch (error) {
      release();
      throw error;
    }
    return { addTokens: (tokens) => quota.add(owner.tenantId, tokens), release };
  };
}

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

interface LimitsListener {
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
