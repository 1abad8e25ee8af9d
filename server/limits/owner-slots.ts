import { AppError } from "../../errors/app-error.ts";
import type { Owner } from "../../stores/owner.ts";
import { ownerKey } from "../../stores/search/index-keys.ts";

/** For the header Retry-After; nobody knows when a turn will end. */
const RETRY_AFTER_SECONDS = 2;

/** How many at once, and the variable that says so; 0: any number. */
interface SlotLimit {
  limit: number;
  variable: string;
}

export interface SlotParts {
  /** What takes a slot, for errors: one and several. */
  of: readonly [one: string, several: string];
  perUser: SlotLimit;
  perTenant: SlotLimit;
}

/** What runs or waits in line in this process, by user and tenant. */
export interface Slots {
  /** Takes a slot until the returned function is called. Throws AppError `too_many_turns` when the user or the tenant has none left. */
  take(owner: Owner): () => void;
}

export function makeSlots({ of: [one, several], perUser, perTenant }: SlotParts): Slots {
  const taken = new Map<string, number>();
  const takenBy = (key: string): number => taken.get(key) ?? 0;
  function add(key: string, change: 1 | -1): void {
    const count = takenBy(key) + change;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }
  function assertFree(key: string, whose: string, { limit, variable }: SlotLimit): void {
    if (limit === 0 || takenBy(key) < limit) return;
    throw new AppError(
      "too_many_turns",
      `This ${whose} already has ${limit} ${limit === 1 ? one : several} running or waiting. Wait for one to end; ${variable} sets the limit.`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
  }
  return {
    take({ tenantId, userId }) {
      const keys = { user: ownerKey(tenantId, userId), tenant: ownerKey(tenantId) };
      assertFree(keys.user, "user", perUser);
      assertFree(keys.tenant, "tenant", perTenant);
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
