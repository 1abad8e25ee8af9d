import { isIPv6 } from "node:net";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { AppError } from "../../errors/app-error.ts";
import { countOne } from "../http/count-one.ts";

const MINUTE = 60;
/** The most failures of one address in a minute: more than an old key causes, far fewer than guessing needs. */
export const MOST_FAILURES = 100;
/** Addresses counted separately in a minute; the rest share a count, which bounds memory. */
const MOST_ADDRESSES = 50_000;
const MOST_KNOWN = 10_000;

/** An IPv6 client owns its whole /64 network. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const groups = head === "" ? [] : head.split(":");
  const behind = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - behind.length) }, () => "0");
  return [...groups, ...zeros, ...behind].slice(0, 4).join(":");
}

/** Counts wrong keys by address, in this process. */
export function makeFailedKeys() {
  const failures = new RateLimiterMemory({ points: MOST_FAILURES, duration: MINUTE });
  const addresses = new RateLimiterMemory({ points: MOST_ADDRESSES, duration: MINUTE });
  const known = new Set<string>();
  const pairOf = (address: string, keyHash: string): string => `${address} ${keyHash}`;

  return {
    /**
     * Throws AppError `rate_limited` after too many wrong keys from this address. A key that was valid from there passes: clients behind
     * one proxy do not lock each other out.
     */
    async assertMayTry(address: string, keyHash: string): Promise<void> {
      const counts = await Promise.all([failures.get(networkOf(address)), failures.get("")]);
      const counted = counts[0] ?? counts[1];
      if (!counted || counted.consumedPoints < MOST_FAILURES || known.has(pairOf(address, keyHash))) return;
      const seconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1_000));
      throw new AppError("rate_limited", `Too many wrong keys came from this address. Send the right one in ${seconds} s.`, {
        retryAfterSeconds: seconds,
      });
    },

    async failed(address: string): Promise<void> {
      const network = networkOf(address);
      const hasRoom = (await failures.get(network)) !== null || !(await countOne(addresses, "new")).isOver;
      await countOne(failures, hasRoom ? network : "");
    },

    worked(address: string, keyHash: string): void {
      const pair = pairOf(address, keyHash);
      if (known.has(pair)) return;
      const [oldest] = known;
      if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
      known.add(pair);
    },
  };
}
