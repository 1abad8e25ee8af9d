import { availableParallelism } from "node:os";
import { AppError } from "../../errors/app-error.ts";
import type { Owner } from "../../turn/owner.ts";
import { ownerKey } from "../../stores/index-keys.ts";
import type { CostQuota } from "./cost-quota.ts";
import type { TokenQuota } from "./token-quota.ts";

const SAMPLE_EVERY_MS = 100;
/** One second. */
const SAMPLES = 10;

/** The minimum tells a standing queue from a burst, as in CoDel: RFC 8289. */
export function watchEventLoop() {
  const lags: number[] = [];
  let due = performance.now() + SAMPLE_EVERY_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    lags.push(Math.max(0, now - due));
    if (lags.length > SAMPLES) lags.shift();
    due = now + SAMPLE_EVERY_MS;
  }, SAMPLE_EVERY_MS).unref();
  return {
    /** The smallest lag of the last second. One long piece of work does not raise it. */
    milliseconds: (): number => (lags.length < SAMPLES ? 0 : Math.min(...lags)),
    close: (): void => clearInterval(timer),
  };
}

/** A second core takes the work beside the event loop; more do not help. */
const TURNS_PER_CORE = 256;
const USEFUL_CORES = 2;
const LATEST_MS = 1_000;
/** Nobody knows when a turn will end. */
const RETRY_AFTER_SECONDS = 2;

/** `full`: the limit is reached. `late`: the event loop does not keep up. */
export type Overload = "full" | "late";

export type Admission = ReturnType<typeof makeAdmission>;

const OVERLOADED: Readonly<Record<Overload, string>> = {
  full: "This process has as many turns as it can answer; MAX_TURNS_PER_PROCESS sets the limit.",
  late: "This process is late with the turns it has.",
};

/** Limits the turns and front ends' tasks in this process. `mostTurns` 0: any number; default: by the cores. */
export function makeAdmission({
  mostTurns = TURNS_PER_CORE * Math.min(availableParallelism(), USEFUL_CORES),
  lag,
  onRefused,
}: {
  mostTurns: number | undefined;
  lag: { milliseconds(): number };
  onRefused: (why: Overload) => void;
}) {
  let inside = 0;
  function refuse(why: Overload): never {
    onRefused(why);
    throw new AppError("overloaded", `${OVERLOADED[why]} Nothing was stored. Send it again in ${RETRY_AFTER_SECONDS} s.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  }
  return {
    mostTurns,
    inside: (): number => inside,
    /** Takes a place until the returned function is called. Throws AppError `overloaded`. */
    enter({ goesOn = false } = {}): () => void {
      if (!goesOn && mostTurns > 0 && inside >= mostTurns) refuse("full");
      if (!goesOn && lag.milliseconds() > LATEST_MS) refuse("late");
      inside++;
      let isInside = true;
      return () => {
        if (isInside) inside--;
        isInside = false;
      };
    },
  };
}

export interface Permit {
  addTokens(tokens: number): void;
  /** However it ended. */
  release(): void;
}

/**
 * Throws AppError `too_many_turns`, `overloaded`, `token_quota_exceeded` or `cost_quota_exceeded`; not for a turn that `goesOn`: it was
 * admitted once.
 */
type Admit = (owner: Owner, options?: { goesOn?: boolean }) => Promise<Permit>;

export type CountSlots = (tenantId: string, userId: string | null) => { user: number; tenant: number };

/** A limit and its setting; 0: any number. */
type SlotLimit = readonly [limit: number, setting: string];

interface AdmitParts {
  of: readonly [one: string, several: string];
  perUser: SlotLimit;
  perTenant: SlotLimit;
  admission: Admission;
  quota: TokenQuota;
  costs: CostQuota;
}

export function makeAdmit({ of: [one, several], perUser, perTenant, admission, quota, costs }: AdmitParts): {
  admit: Admit;
  count: CountSlots;
} {
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
  const count: CountSlots = (tenantId, userId) => {
    const taking = (key: string): number => taken.get(key) ?? 0;
    return { user: userId === null ? 0 : taking(ownerKey(tenantId, userId)), tenant: taking(ownerKey(tenantId)) };
  };
  const admit: Admit = async ({ tenantId, userId }, { goesOn = false } = {}) => {
    const [user, tenant] = [ownerKey(tenantId, userId), ownerKey(tenantId)];
    if (!goesOn) {
      assertFree(user, "user", perUser);
      assertFree(tenant, "tenant", perTenant);
    }
    const leave = admission.enter({ goesOn });
    for (const key of [user, tenant]) add(key, 1);
    let isReleased = false;
    function release(): void {
      if (isReleased) return;
      isReleased = true;
      leave();
      for (const key of [user, tenant]) add(key, -1);
    }
    try {
      if (!goesOn) await Promise.all([quota.assertLeft(tenantId), costs.assertLeft(tenantId)]);
    } catch (error) {
      release();
      throw error;
    }
    return { addTokens: (tokens) => quota.add(tenantId, tokens), release };
  };
  return { admit, count };
}
