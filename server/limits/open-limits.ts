import { makeTokenUsageStore } from "../../stores/postgres/token-usage-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { Config } from "../start/config.ts";
import { type Admission, makeAdmission, type Overload, watchEventLoop } from "./admission.ts";
import { makeRateLimits } from "./rate-limits.ts";
import { AppError } from "../../errors/app-error.ts";
import { ownerKey } from "../../stores/search/index-keys.ts";
import { makeTokenQuota, type TokenQuota } from "./token-quota.ts";
import type { Owner } from "../../stores/owner.ts";

/** A running turn, or task of a front end. */
export interface Permit {
  addTokens(tokens: number): void;
  /** However it ended. */
  release(): void;
}

/** Throws AppError `too_many_turns`, `overloaded` or `token_quota_exceeded`. */
type Admit = (owner: Owner) => Promise<Permit>;

/** How many at once, and the setting that says so; 0: any number. */
type SlotLimit = readonly [limit: number, setting: string];

interface AdmitParts {
  /** What takes a slot, for errors. */
  of: readonly [one: string, several: string];
  perUser: SlotLimit;
  perTenant: SlotLimit;
  admission: Admission;
  quota: TokenQuota;
}

/** Nobody knows when a turn will end. */
const RETRY_AFTER_SECONDS = 2;

function makeAdmit({ of: [one, several], perUser, perTenant, admission, quota }: AdmitParts): Admit {
  /** Running or waiting in this process, by the key of the user or tenant. */
  const taken = new Map<string, number>();
  function assertFree(key: string, whose: string, [limit, setting]: SlotLimit): void {
    if (limit === 0 || (taken.get(key) ?? 0) < limit) return;
    throw new AppError(
      "too_many_turns",
      `This ${whose} already has ${limit} ${limit === 1 ? one : several} running or waiting. Wait for one to end; ${setting} sets the limit.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
  function add(key: string, change: 1 | -1): void {
    const count = (taken.get(key) ?? 0) + change;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }
  return async function admit({ tenantId, userId }) {
    const [user, tenant] = [ownerKey(tenantId, userId), ownerKey(tenantId)];
    assertFree(user, "user", perUser);
    assertFree(tenant, "tenant", perTenant);
    const leave = admission.enter();
    for (const key of [user, tenant]) add(key, 1);
    let isReleased = false;
    function release(): void {
      if (isReleased) return;
      isReleased = true;
      leave();
      for (const key of [user, tenant]) add(key, -1);
    }
    try {
      await quota.assertLeft(tenantId);
    } catch (error) {
      release();
      throw error;
    }
    return { addTokens: (tokens) => quota.add(tenantId, tokens), release };
  };
}

/** `onError`: token sums could not be written yet. `admitTask` is for a front end's task, which asks the model without being a turn. */
export function openLimits(
  config: Config,
  database: Database,
  { onError, onRefused }: { onError: (error: unknown) => void; onRefused: (why: Overload) => void },
) {
  const quota = makeTokenQuota({ usage: makeTokenUsageStore(database), perDay: config.TOKENS_PER_DAY, onError });
  const lag = watchEventLoop();
  const admission = makeAdmission({ mostTurns: config.MAX_TURNS_PER_PROCESS, lag, onRefused });
  const perTenant = [config.MAX_CONCURRENT_TURNS_PER_TENANT, "MAX_CONCURRENT_TURNS_PER_TENANT"] as const;
  return {
    rates: makeRateLimits({ perUser: config.RATE_LIMIT_PER_MINUTE, perTenant: config.RATE_LIMIT_PER_MINUTE_PER_TENANT }),
    admitTurn: makeAdmit({
      of: ["turn", "turns"],
      perUser: [config.MAX_CONCURRENT_TURNS_PER_USER, "MAX_CONCURRENT_TURNS_PER_USER"],
      perTenant,
      admission,
      quota,
    }),
    admitTask: makeAdmit({
      of: ["task of a front end", "tasks of front ends"],
      perUser: [config.MAX_CONCURRENT_TASKS_PER_USER, "MAX_CONCURRENT_TASKS_PER_USER"],
      perTenant,
      admission,
      quota,
    }),
    lagMs: () => lag.milliseconds(),
    async close() {
      lag.close();
      await quota.close();
    },
  };
}

export type Limits = ReturnType<typeof openLimits>;
