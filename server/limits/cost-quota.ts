import { AppError } from "../../errors/app-error.ts";
import type { UsageMeter } from "./usage-meter.ts";
import type { UsageStore } from "../../stores/postgres/usage/usage-store.ts";

const DAY_MS = 86_400_000;
/** Milliseconds for which a sum counts as current. */
const FRESH_MS = 1_000;

export interface CostQuotaParts {
  usage: Pick<UsageStore, "costOfDay">;
  meter: Pick<UsageMeter, "write" | "costSoFar">;
  /** US dollars of one tenant in a day of UTC. 0: any number, and nothing is read. */
  perDay: number;
  now?: () => number;
}

export type CostQuota = ReturnType<typeof makeCostQuota>;

const dollars = (usd: number): string => `$${Number(usd.toFixed(6))}`;

interface Asked {
  at: number;
  /** This process's count by then. */
  counted: number;
  stored: Promise<number>;
}

/** Covers all processes on one Postgres: this one's use at once, others' within two seconds. */
export function makeCostQuota({ usage, meter, perDay, now = Date.now }: CostQuotaParts) {
  const asked = new Map<string, Asked>();

  function ask(tenantId: string, day: string): Asked {
    const known = asked.get(tenantId);
    if (known && now() - known.at < FRESH_MS && known.at >= Date.parse(day)) return known;
    for (const [other, { at }] of asked) if (now() - at >= FRESH_MS) asked.delete(other);
    const stored = meter.write().then(() => usage.costOfDay(tenantId, day));
    stored.catch(() => asked.delete(tenantId));
    const fresh = { at: now(), counted: meter.costSoFar(tenantId), stored };
    asked.set(tenantId, fresh);
    return fresh;
  }

  async function usedBy(tenantId: string): Promise<number> {
    const { stored, counted } = ask(tenantId, new Date(now()).toISOString().slice(0, 10));
    return (await stored) + meter.costSoFar(tenantId) - counted;
  }

  return {
    usedBy,
    /** Throws AppError `cost_quota_exceeded`. */
    async assertLeft(tenantId: string): Promise<void> {
      if (perDay === 0) return;
      const used = await usedBy(tenantId);
      if (used < perDay) return;
      const seconds = Math.max(1, Math.ceil((DAY_MS - (now() % DAY_MS)) / 1_000));
      throw new AppError(
        "cost_quota_exceeded",
        `This tenant has used ${dollars(used)} of its ${dollars(perDay)} of today. The day ends in ${seconds} s, at midnight UTC; COST_PER_DAY sets the limit.`,
        { retryAfterSeconds: seconds },
      );
    },
  };
}
