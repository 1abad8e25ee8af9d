import { setTimeout as sleep } from "node:timers/promises";

/** Looks again and again until `look` gives something truthy, and returns that. Throws, naming `what`, when it takes too long. */
export async function waitUntil<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  timeoutMs = 120_000,
): Promise<Exclude<Found, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<Found, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await sleep(20);
  }
}

export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Waits for one step of a long test; one that hangs fails with its name and what `tell` says, long before the whole test would. */
export async function within<Result>(name: string, result: Promise<Result>, tell: () => string, timeoutMs = 120_000): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${name}: not within ${timeoutMs} ms; ${tell()}`)), timeoutMs);
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}
