import { AppError } from "../../errors/app-error.ts";
import type { TokenUsageStore } from "../../stores/postgres/usage/usage-store.ts";

const DAY_MS = 86_400_000;
/** Milliseconds for which a stored sum counts as current. */
const FRESH_MS = 1_000;

export interface TokenQuotaParts {
  usage: TokenUsageStore;
  /** The most tokens of one tenant in a day of UTC. 0: any number, and nothing is stored. */
  perDay: number;
  /** Called when sums could not be written; the next write has them. */
  onError: (error: unknown) => void;
  now?: () => number;
}

interface Sum {
  tenantId: string;
  day: string;
  stored: number;
  unwritten: number;
  askedAt: number;
  asking: Promise<void> | null;
  timer: NodeJS.Timeout | null;
}

const dayOf = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

export type TokenQuota = ReturnType<typeof makeTokenQuota>;

/** Counts for all processes on the same Postgres. */
export function makeTokenQuota({ usage, perDay, onError, now = Date.now }: TokenQuotaParts) {
  const sums = new Map<string, Sum>();

  /** Drops written sums of past days. */
  function sumOf(tenantId: string, day: string): Sum {
    const key = `${day} ${tenantId}`;
    const known = sums.get(key);
    if (known) return known;
    for (const [old, { day: its, unwritten, asking }] of sums) if (its !== day && unwritten === 0 && !asking) sums.delete(old);
    const sum = { tenantId, day, stored: 0, unwritten: 0, askedAt: -Infinity, asking: null, timer: null };
    sums.set(key, sum);
    return sum;
  }

  /** Writes `unwritten` and reads the sum of all processes. */
  async function exchange(sum: Sum): Promise<void> {
    const { tenantId, day, unwritten } = sum;
    const askedAt = now();
    sum.unwritten = 0;
    sum.stored += unwritten;
    try {
      sum.stored = await usage.add(tenantId, day, unwritten);
      sum.askedAt = askedAt;
    } catch (error) {
      sum.unwritten += unwritten;
      sum.stored -= unwritten;
      throw error;
    }
  }

  function ask(sum: Sum): Promise<void> {
    sum.asking ??= exchange(sum).finally(() => (sum.asking = null));
    return sum.asking;
  }

  function writeSoon(sum: Sum): void {
    sum.timer ??= setTimeout(() => {
      sum.timer = null;
      ask(sum).then(
        () => sum.unwritten > 0 && writeSoon(sum),
        (error: unknown) => {
          onError(error);
          writeSoon(sum);
        },
      );
    }, FRESH_MS).unref();
  }

  async function usedBy(tenantId: string): Promise<number> {
    const sum = sumOf(tenantId, dayOf(now()));
    if (now() - sum.askedAt >= FRESH_MS) await ask(sum);
    return sum.stored + sum.unwritten;
  }

  return {
    usedBy,
    /** Throws AppError `token_quota_exceeded`. */
    async assertLeft(tenantId: string): Promise<void> {
      if (perDay === 0) return;
      const used = await usedBy(tenantId);
      if (used < perDay) return;
      const seconds = Math.max(1, Math.ceil((DAY_MS - (now() % DAY_MS)) / 1_000));
      throw new AppError(
        "token_quota_exceeded",
        `This tenant has used ${used} of its ${perDay} tokens of today. The day ends in ${seconds} s, at midnight UTC; TOKENS_PER_DAY sets the limit.`,
        { retryAfterSeconds: seconds },
      );
    },

    /** Written within a second, with others. */
    add(tenantId: string, tokens: number): void {
      const whole = Math.round(tokens);
      if (perDay === 0 || !(whole > 0)) return;
      const sum = sumOf(tenantId, dayOf(now()));
      sum.unwritten += whole;
      writeSoon(sum);
    },

    async close(): Promise<void> {
      for (const sum of sums.values()) {
        if (sum.timer) clearTimeout(sum.timer);
        await sum.asking?.catch(() => undefined);
        if (sum.unwritten > 0) await ask(sum).catch(onError);
        if (sum.timer) clearTimeout(sum.timer);
      }
    },
  };
}
