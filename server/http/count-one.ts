import type { RateLimiterMemory } from "rate-limiter-flexible";
import { RateLimiterRes } from "rate-limiter-flexible";

/** Also above the limit. */
export async function countOne(limiter: RateLimiterMemory, key: string): Promise<{ counted: RateLimiterRes; isOver: boolean }> {
  try {
    return { counted: await limiter.consume(key), isOver: false };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { counted: refused, isOver: true };
    throw refused;
  }
}
