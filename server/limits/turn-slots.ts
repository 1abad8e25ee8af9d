import { AppError } from "../../errors/app-error.ts";
import type { Owner } from "../../stores/owner.ts";
import { ownerKey } from "../../stores/search/owner-key.ts";

/** What a client waits before it tries again, in seconds: nobody knows when a turn will end. */
const RETRY_AFTER_SECONDS = 2;

export interface TurnSlotParts {
  /** Turns at once; 0: any number. */
  perUser: number;
  perTenant: number;
}

/** The turns that run or wait in line in this process. */
export interface TurnSlots {
  /** Takes a slot until the returned function is called. Throws AppError `too_many_turns` when the user or the tenant has none left. */
  take(owner: Owner): () => void;
}

function tooMany(whose: string, limit: number, variable: string): AppError {
  return new AppError(
    "too_many_turns",
    `This ${whose} already has ${limit} ${limit === 1 ? "turn" : "turns"} running or waiting. Send the message again when one has ended; ${variable} sets the limit.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}

export function makeTurnSlots({ perUser, perTenant }: TurnSlotParts): TurnSlots {
  const taken = new Map<string, number>();
  const takenBy = (key: string): number => taken.get(key) ?? 0;
  function add(key: string, change: 1 | -1): void {
    const count = takenBy(key) + change;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }
  return {
    take({ tenantId, userId }) {
      const keys = { user: ownerKey(tenantId, userId), tenant: ownerKey(tenantId) };
      if (perUser > 0 && takenBy(keys.user) >= perUser) throw tooMany("user", perUser, "MAX_CONCURRENT_TURNS_PER_USER");
      if (perTenant > 0 && takenBy(keys.tenant) >= perTenant) throw tooMany("tenant", perTenant, "MAX_CONCURRENT_TURNS_PER_TENANT");
      for (const key of Object.values(keys)) add(key, 1);
      let isFree = false;
      return () => {
        if (isFree) return;
        isFree = true;
        for (const key of Object.values(keys)) add(key, -1);
      };
    },
  };
}
