import { RateLimiterRes, type RateLimiterMemory } from "rate-limiter-flexible";

/** Counts one of `key`; gives the count also when it is over the limit, with `isOver`. */
export async function countOne(limiter: RateLimiterMemory, key: string): Promise<{ counted: RateLimiterRes; isOver: boolean }> {
  try {
    return { counted: await limiter.consume(key), isOver: false };
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return { counted: refused, isOver: true };
    throw refused;
  }
}
